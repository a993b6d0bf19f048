package explain

import (
	"fmt"
	"reflect"
	"testing"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// TestForged: of every combination of what a forged record may hold, explain says what
// pulse-classify | pulse-authorize decides, and takes no record that pulse-classify refuses.
func TestForged(t *testing.T) {
	p := parse(t, "owners = [\"me@example.com\"]\nallowed_external = [\"@supplier.example\"]\nauthserv_id = \"mx.example.net\"\n")
	outcomes := map[terms.Outcome]int{}
	refused := 0
	for _, given := range forged() {
		for _, rest := range []string{"", `,"request":{"action":"code_or_computer"}`, `,"request":{"action":"read_public"},"task":{}`, `,"task":{}`} {
			for _, m := range []string{"", `,"message":{}`, `,"message":{"headers":[["From","me@example.com"]],"defects":[]}`} {
				line := "{" + given + rest + m + "}"
				rec, err := record.Parse([]byte(line), Members...)
				if err != nil {
					t.Fatal(err)
				}
				s, failed := Read(rec, p, machine{})
				o, err := identity.ReadOrigin(rec)
				if fmt.Sprint(failed) != fmt.Sprint(err) {
					t.Errorf("%s: explain says %v, pulse-classify %v", line, failed, err)
				}
				if err != nil || failed != nil {
					refused++
					continue
				}
				id, x := o.Classify(p), Of(s)
				in := decision.Input{Identity: &id, Request: s.Request, Policy: p, World: machine{}}
				if o.Message != nil {
					in.Source, in.Recipients = o.Message.Source, identity.Recipients(o.Message)
				}
				if want := decision.Decide(in); !reflect.DeepEqual(x.Decision.Decision, want) || !reflect.DeepEqual(x.Identity, id) {
					t.Errorf("%s: explain says %+v, the stages %+v", line, x.Decision, want)
				}
				outcomes[x.Decision.Outcome]++
			}
		}
	}
	if refused == 0 || outcomes[terms.Allow] == 0 || outcomes[terms.Reject] == 0 {
		t.Errorf("%d refused, %v", refused, outcomes)
	}
}

// forged returns identities that nobody should believe without more, and one that is none.
func forged() (list []string) {
	for _, trust := range terms.TrustLevels {
		for _, via := range []string{"", `,"via":"agent","parent":"x"`, `,"via":"submit"`} {
			for _, sender := range []string{"me@example.com", "x@supplier.example", "old@example.com", "uid:0", ""} {
				list = append(list, fmt.Sprintf(`"identity":{"sender":%q,"trust":%q,"verified":true%s,"stale":false,"automatic":false}`, sender, trust, via))
			}
		}
	}
	return append(list, `"identity":"system"`)
}
