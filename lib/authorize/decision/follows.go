package decision

import (
	"slices"

	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// Follows is what follows from a record under a policy: the decision, and what the trust of
// its sender decides besides. pulse-queue run obeys it, diff compares it, explain prints it.
type Follows struct {
	Decision
	Trust  terms.Trust          // the level by which it counts
	Brings []label.Label        // the labels that its root task has once it starts, sorted
	Text   bool                 // its worker is given what the sender wrote; false: what a reader made of that
	Ask    bool                 // it is no effect
	Rows   []policy.ApprovalRow // those that say whose yes it needs
	Shared bool                 // it counts against the half of the caps that external senders share

	effects Input // what an effect that its worker proposes is decided by
}

// Follow returns what follows from a record on which the policy decided d.
func (d Decision) Follow(in *Input) Follows {
	who, was := in.Identity, in.Trust
	if was == "" {
		was = who.Trust
	}
	f := Follows{Decision: d, Rows: approvers(in, d.Action), Trust: who.Trust, Ask: !who.Effect(), Text: true, Shared: was == terms.ExternalVerified}
	brings := label.Of(who.Trust).Union(label.Of(was))
	brings, _ = brings.Named(words(d.Labels))
	if f.Ask {
		x := &in.Policy.Extract
		f.Text = !x.Requires(was) && !x.Requires(who.Trust)
		if d.Action == terms.ReadPrivate { // its worker may read what it likes
			brings, _ = brings.With(label.Use{Label: label.Private})
		}
	}
	for _, u := range brings {
		f.Brings = append(f.Brings, u.Label)
	}
	acts := who.Proposes()
	acts.Labels = who.Labels.Union(brings)
	f.effects = Input{Identity: &acts, Policy: in.Policy}
	return f
}

// Effect decides on an effect that its worker proposes, made of what those in seen have seen.
func (f *Follows) Effect(r *request.Request, seen audience.Audience, world tools.World) Decision {
	in := f.effects
	who := *in.Identity
	who.Audience = seen
	in.Identity, in.Request, in.World = &who, r, world
	return Decide(in)
}

// As returns how effects count that its worker proposes.
func (f *Follows) As() *identity.Identity { return f.effects.Identity }

// The names of aspects. The others are labels, and caps.
const (
	OutcomeAspect = "outcome" // the first
	TextAspect    = "text"
	GrantsAspect  = "grants" // of an effect: whether one that was given ahead may be its yes
)

// Aspect is one of the things that follow from a record, in a word. Of two policies, the one
// under which Reach is greater lets more happen.
type Aspect struct {
	Name  string // outcome, text, caps, or a label
	Value string
	Reach int
}

// Aspects lists what follows, the outcome first, in the same order for all records. What its
// effects may be is left out: Effect says it of each. Nothing follows from a rejected record
// but that.
func (f *Follows) Aspects() []Aspect {
	list := []Aspect{{OutcomeAspect, string(f.Outcome), f.Outcome.Reach()}}
	if f.Outcome == terms.Reject {
		return list
	}
	list = append(list, aspect(TextAspect, f.Text, "whole", "extract"), aspect("caps", !f.Shared, "all", "half"))
	if !f.Ask {
		list = append(list, aspect(GrantsAspect, !f.Flow && len(f.Rows) == 0 || !f.Action.Outward(), "suffice", "excluded"))
	}
	for _, l := range label.All {
		list = append(list, aspect(string(l), !slices.Contains(f.Brings, l), "absent", "present"))
	}
	return list
}

func aspect(name string, far bool, yes, no string) Aspect {
	if far {
		return Aspect{name, yes, 1}
	}
	return Aspect{name, no, 0}
}

// FollowsMember is the name of the member in which explain prints what follows besides the
// decision, and a case of test may expect it.
const FollowsMember = "follows"

// Said is a word of what follows, as people and programs are told it.
type Said struct{ Name, Value string }

// Say lists what follows besides the decision: the trust level that counts, the aspects, what
// becomes of an effect of its worker that names no tool, by its action, where effects may go
// to, and whether tools that are owner_only are open to them.
func (f *Follows) Say() []Said {
	list := []Said{{"trust", string(f.Trust)}}
	for _, a := range f.Aspects()[1:] {
		list = append(list, Said{a.Name, a.Value})
	}
	if f.Ask && f.Outcome != terms.Reject {
		for _, a := range terms.Actions {
			d := f.Effect(&request.Request{Action: a, Target: reachable(f.effects.Policy)}, audience.Audience{}, nil)
			list = append(list, Said{"effect." + string(a), string(d.Outcome)})
		}
		list = append(list, Said{"targets", targets(f.effects.Policy)})
		owners := aspect("owner_only", tools.Owner(f.Trust), "open", "closed")
		list = append(list, Said{owners.Name, owners.Value})
	}
	return list
}

// targets says where effects may go to.
func targets(p *policy.Policy) string {
	switch {
	case !p.Outbound.Restricted:
		return "any"
	case len(p.Outbound.Allow) == 0:
		return "none"
	}
	return "listed"
}

// reachable returns a target that the policy allows, or none.
func reachable(p *policy.Policy) []string {
	switch {
	case !p.Outbound.Restricted:
		return []string{"someone@example.com"}
	case len(p.Outbound.Allow) == 0:
		return nil
	}
	to, _ := address.Below(p.Outbound.Allow[0], "someone")
	return []string{to}
}
