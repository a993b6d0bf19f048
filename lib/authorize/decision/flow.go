package decision

import (
	"slices"

	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// What [flow] says of the labels of the root task (pulse-policy(5)). A deny comes before
// whatever leaves an effect to a person, because no yes holds against it. A confirm comes
// last, because it is about what is allowed.

// Labels returns the labels that a task has: those of the record, and those that the trust level
// gives, so that a pipe that leaves them out can't hide where a task came from.
func Labels(id *identity.Identity) label.Set { return id.Labels.Union(label.Of(id.Trust)) }

// Audience returns who has seen what an effect is made of: what is private, the owners alone.
func Audience(p *policy.Policy, id *identity.Identity) audience.Audience {
	if Labels(id).Use(label.Private) == nil {
		return id.Audience
	}
	return id.Audience.Intersect(audience.Of(p.Owners...))
}

// Counting returns the labels that count for an effect. A message that goes to the audience alone
// reveals nothing, so private does not count for it.
func Counting(p *policy.Policy, id *identity.Identity, r *request.Request, a terms.Action) label.Set {
	set := Labels(id)
	if set.Use(label.Private) == nil || !stays(p, id, r, a) {
		return set
	}
	return slices.DeleteFunc(slices.Clone(set), func(u label.Use) bool { return u.Label == label.Private })
}

// stays reports whether an effect reaches its targets and nobody else, and these are the audience.
func stays(p *policy.Policy, id *identity.Identity, r *request.Request, a terms.Action) bool {
	return r != nil && len(r.Target) > 0 && tools.Message(p, r.Tool, a) && Audience(p, id).Beyond(r.Target) == nil
}

// reasonOf has the reason of each label.
var reasonOf = map[label.Label]Reason{label.Private: FlowPrivate, label.Untrusted: FlowUntrusted}

func denied(f policy.Flow) []string    { return f.Deny }
func confirmed(f policy.Flow) []string { return f.Confirm }

func (s *state) hasDeny() bool { return s.first(denied) != "" }

func (s *state) hasConfirm() bool { return s.isAllowed() && s.first(confirmed) != "" }

// first returns the first label for which a list says anything.
func (s *state) first(list func(policy.Flow) []string) label.Label {
	for _, u := range Labels(s.Identity) {
		if len(list(s.Policy.Flow[u.Label])) > 0 {
			return u.Label
		}
	}
	return ""
}

func (s *state) flowDeny() (last bool)    { return s.flow(terms.Reject, ".deny", denied) }
func (s *state) flowConfirm() (last bool) { return s.flow(terms.Confirm, ".confirm", confirmed) }

// flow decides by the first label that counts and for which a list has an entry about the effect.
func (s *state) flow(o terms.Outcome, key string, list func(policy.Flow) []string) bool {
	for _, u := range Counting(s.Policy, s.Identity, s.Request, s.d.Action) {
		if entry, ok := tools.FlowEntry(s.Policy, list(s.Policy.Flow[u.Label]), s.Request, s.d.Action); ok {
			rule := "flow." + string(u.Label) + key
			s.decide(o, rule, reasonOf[u.Label], "it began with a task that is labelled %s, and %s has %s%s", u.String(), rule, entry, s.beyond(u.Label))
			return true
		}
	}
	return false
}

// beyond says, of a message that may not go where it is to go for what is private, who may have it.
func (s *state) beyond(l label.Label) string {
	if l != label.Private || s.Request == nil || !tools.Message(s.Policy, s.Request.Tool, s.d.Action) {
		return ""
	}
	seen := Audience(s.Policy, s.Identity)
	out := seen.Beyond(s.Request.Target)
	if out == nil {
		return ""
	}
	return "; its audience is " + seen.String() + ", without " + audience.Few(out)
}

func (s *state) sawDeny() trace.Step    { return s.sawFlow(".deny", denied) }
func (s *state) sawConfirm() trace.Step { return s.sawFlow(".confirm", confirmed) }

// asked reports whether [flow] wants a yes, whatever else leaves the effect to a person.
func asked(in *Input) bool {
	for _, u := range Counting(in.Policy, in.Identity, in.Request, action(in)) {
		if _, ok := tools.FlowEntry(in.Policy, in.Policy.Flow[u.Label].Confirm, in.Request, action(in)); ok {
			return true
		}
	}
	return false
}

// sawFlow goes by the list that decided, else by the first that was looked at.
func (s *state) sawFlow(key string, list func(policy.Flow) []string) trace.Step {
	step := trace.Step{Saw: "labelled " + Labels(s.Identity).String(), Key: "flow." + string(s.first(list)) + key}
	if s.d.Reason == FlowPrivate || s.d.Reason == FlowUntrusted {
		step.Key = s.d.Rule
	}
	if len(Counting(s.Policy, s.Identity, s.Request, s.d.Action)) < len(Labels(s.Identity)) {
		step.Saw += ", and it goes to its audience alone"
	}
	return step
}
