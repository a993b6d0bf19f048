package decision

import (
	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// What [flow] says of the labels of the root task (pulse-policy(5)). A deny comes before
// whatever leaves an effect to a person, because no yes holds against it. A confirm comes
// last, because it is about what is allowed.

// Labels returns the labels that count: those of the record, and those that the trust level
// gives, so that a pipe that leaves them out can't hide where a task came from.
func Labels(id *identity.Identity) label.Set { return id.Labels.Union(label.Of(id.Trust)) }

// reasonOf has the reason of each label.
var reasonOf = map[label.Label]Reason{label.Private: FlowPrivate, label.Untrusted: FlowUntrusted}

func denied(f policy.Flow) []string    { return f.Deny }
func confirmed(f policy.Flow) []string { return f.Confirm }

func (s *state) hasDeny() bool { return s.first(denied) != "" }

func (s *state) hasConfirm() bool { return s.isAllowed() && s.first(confirmed) != "" }

// first returns the first label that counts and for which a list says anything.
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

// flow decides by the first label for which a list has an entry about the effect.
func (s *state) flow(o terms.Outcome, key string, list func(policy.Flow) []string) bool {
	for _, u := range Labels(s.Identity) {
		if entry, ok := tools.FlowEntry(s.Policy, list(s.Policy.Flow[u.Label]), s.Request, s.d.Action); ok {
			rule := "flow." + string(u.Label) + key
			s.decide(o, rule, reasonOf[u.Label], "it began with a task that is labelled %s, and %s has %s", u.String(), rule, entry)
			return true
		}
	}
	return false
}

func (s *state) sawDeny() trace.Step    { return s.sawFlow(".deny", denied) }
func (s *state) sawConfirm() trace.Step { return s.sawFlow(".confirm", confirmed) }

// asked reports whether [flow] wants a yes, whatever else leaves the effect to a person.
func asked(in *Input) bool {
	for _, u := range Labels(in.Identity) {
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
	return step
}
