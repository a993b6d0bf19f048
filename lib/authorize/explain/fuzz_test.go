package explain

import (
	"reflect"
	"testing"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// FuzzRecord explains whatever a line holds: it ends, shows nothing that moves a cursor, and
// says what the stages decide.
func FuzzRecord(f *testing.F) {
	for i, e := range corpus(f) {
		if i%20 == 0 {
			f.Add(e.policy, string(e.rec.Value()))
		}
	}
	for _, text := range rules {
		f.Add(text, `{"request":`+wishes[0]+`,"identity":{"sender":"me@example.com","trust":"external_verified","via":"agent","parent":"p","stale":false,"automatic":false,"verified":true}}`)
	}
	f.Add("[[platform]]\nsource = \"t\"\n[[platform.chat]]\nid = -1\n", `{"message":{"source":"t","sender":{"id":2,"chat":-1},"defects":[]},"request":{"action":"fly"}}`)
	f.Add("", `{"message":{},"identity":"system"}`)
	f.Fuzz(func(t *testing.T, text, line string) {
		p, err := policy.Parse("p", []byte(text))
		if err != nil {
			return
		}
		rec, err := record.Parse([]byte(line), Members...)
		if err != nil {
			return
		}
		s, err := Read(rec, p, machine{})
		if err != nil {
			return
		}
		x := Of(s)
		looksRight(t, line, x)
		origin, err := identity.ReadOrigin(rec)
		if err != nil {
			t.Fatalf("explained, and pulse-classify says %v", err)
		}
		id := origin.Classify(p)
		if s.Message != nil && x.Identity.Trust == terms.ApprovedSession { // of then
			id = x.Identity
		}
		in := decision.Input{Identity: &id, Request: s.Request, Policy: p, World: machine{}}
		if s.Message != nil {
			in.Source, in.Recipients = s.Message.Source, identity.Recipients(s.Message)
		}
		if d := decision.Decide(in); !reflect.DeepEqual(d, x.Decision.Decision) || x.Steps[x.Decided].Result != string(d.Outcome) {
			t.Errorf("%+v, want %+v", x.Decision, d)
		}
		for _, c := range append(x.OfPolicy, x.OfMail...) {
			changed := s
			c.apply(&changed)
			if a := changed.decide(nil); a.d.Outcome != c.Outcome || c.Outcome == x.Decision.Outcome {
				t.Errorf("%+v: %s", c, a.d.Outcome)
			}
		}
	})
}
