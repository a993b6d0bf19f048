package replay

import (
	"reflect"
	"testing"

	"pulse/lib/authorize/compare"
	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
)

// FuzzRead: whatever a line holds, reading it and deciding on it ends, a policy differs
// from itself in nothing, and what it decided is what it is expected to decide.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"message":{"source":"imaps://a/x","headers":[["From","me@example.com"]],"defects":[]},"decision":{"outcome":"reject"}}`,
		`{"message":{"source":"telegram","sender":{"id":8,"chat":-100},"defects":[]},"request":{"action":"read_private"}}`,
		`{"identity":{"sender":"me@example.com","trust":"owner_verified_email","via":"agent","parent":"p","stale":false,"automatic":false,"verified":true},"request":{"action":"code_or_computer","args":{"argv":["/bin/ls","-l","x"],"dir":"/tmp"}}}`,
		`{"message":{"headers":[],"defects":[]},"identity":{"trust":"approved_session","session":"s","stale":false,"automatic":false,"verified":true},"task":{"id":"x"}}`,
		`{"identity":{"trust":"system","via":"submit","stale":false,"automatic":false,"verified":true},"request":{"tool":"pay","args":{"receipt":["x"]}},"decision":{"rule":"x","why":1}}`,
	} {
		f.Add(seed)
	}
	p, err := policy.Parse("p", []byte(rich))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string) {
		rec, err := record.Parse([]byte(line), Members...)
		if err != nil {
			return
		}
		_, _ = Expect(rec)
		c, err := Read(rec)
		if err != nil {
			return
		}
		a, b := c.Decide(p, nil), c.Decide(p, nil)
		d := Difference{Old: a, New: b}
		if differs, err := d.Compare(compare.NewFollower(p, p)); differs || err != nil || !reflect.DeepEqual(a.Decision, b.Decision) || !reflect.DeepEqual(a.Identity, b.Identity) {
			t.Fatalf("the same policy says %+v and %+v: %s", a, b, d.String())
		}
		c.Reached(p, &a, func(Rule) {})
		if o, err := identity.ReadOrigin(rec); err == nil && o.Message == nil && o.Given.Via == identity.ViaMessage {
			t.Fatalf("pulse-classify would believe %s", line)
		}
		expects(t, rec, p, &a)
	})
}

// expects writes the answer into the record, and finds that nothing differs.
func expects(t *testing.T, rec *record.Record, p *policy.Policy, a *Answer) {
	t.Helper()
	stored := rec.AppendReplaced(nil, decision.Member, a.Decision.Append(nil))
	again, err := record.Parse(stored, Members...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Expect(again)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read(again)
	if err != nil {
		t.Fatal(err)
	}
	b := c.Decide(p, nil)
	if found := want.Differs(&b); len(found) > 0 {
		t.Fatal(found)
	}
}
