package decision

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// TestReads: under any policy, a part of the message that Reads does not name changes
// nothing. pulse-authorize would skip a rule about a part that Reads forgets.
func TestReads(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	differ := 0
	for range 20000 {
		p := anyPolicy(r)
		in := Input{Policy: p, Identity: &identity.Identity{Sender: "me@example.com", Trust: pick(r, terms.TrustLevels...)},
			Source: pick(r, "imaps://t/A", "imaps://t/B", "webhook:/a"), Recipients: [][]string{nil, {"a@example.com"}, {"b@example.com"}, {"a@example.com", "b@example.com"}}[r.IntN(4)]}
		if r.IntN(3) == 0 {
			in.Request = &request.Request{Action: pick(r, terms.Actions...), Target: []string{"a@example.com"}}
		}
		if r.IntN(4) == 0 {
			in.Identity.Via = identity.ViaAgent
		}
		read, without := in, in
		source, recipients := Reads(p)
		if !source {
			read.Source = ""
		}
		if !recipients {
			read.Recipients = nil
		}
		without.Source, without.Recipients = "", nil
		want := Decide(in)
		if got := Decide(read); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, want %+v, of %+v under %+v", got, want, in, p)
		}
		if !reflect.DeepEqual(Decide(without), want) {
			differ++
		}
	}
	if differ < 1000 {
		t.Errorf("the message made a difference %d times: nothing was tried", differ)
	}
}

func anyPolicy(r *rand.Rand) *policy.Policy {
	p := policy.Default()
	for range r.IntN(3) {
		p.ActionRules = append(p.ActionRules, policy.ActionRule{
			To: pick(r, "", "a@example.com", "b@example.com"), Source: pick(r, "", "imaps://*", "imaps://t/B", "*"), Action: pick(r, terms.Actions...),
		})
	}
	for range r.IntN(2) {
		pl := policy.Platform{Source: pick(r, "webhook:/a", "imaps://t/A")}
		if r.IntN(2) == 0 {
			pl.Actions = []terms.Action{pick(r, terms.Actions...)}
		}
		p.Platforms = append(p.Platforms, pl)
	}
	if r.IntN(2) == 0 {
		p.Recipients = []string{"a@example.com"}
	}
	p.DefaultAction = pick(r, terms.Actions...)
	return p
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }
