package decision

import (
	"pulse/lib/authorize/tools"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// What [flow] says of the labels of the root task (pulse-policy(5)). A deny comes before
// whatever leaves an effect to a person, because no yes holds against it. A confirm comes
// last, because it is about what is allowed.

// labels returns the labels that count: those of the record, and those that the trust level
// gives, so that a pipe that leaves them out can't hide where a task came from.
func (s *state) labels() label.Set { return s.Identity.Labels.Union(label.Of(s.Identity.Trust)) }

// flows reports whether the policy says anything about the labels.
func (s *state) flows() bool {
	if len(s.Policy.Flow) == 0 {
		return false
	}
	for _, u := range s.labels() {
		if _, ok := s.Policy.Flow[u.Label]; ok {
			return true
		}
	}
	return false
}

func (s *state) flowDeny() (last bool) {
	return s.flow(terms.Reject, "deny", func(f policy.Flow) []string { return f.Deny })
}

func (s *state) flowConfirm() (last bool) {
	return s.d.Outcome == terms.Allow &&
		s.flow(terms.Confirm, "confirm", func(f policy.Flow) []string { return f.Confirm })
}

// flow decides by the first label for which a list has an entry about the effect.
func (s *state) flow(o terms.Outcome, key string, list func(policy.Flow) []string) bool {
	for _, u := range s.labels() {
		if entry, ok := tools.FlowEntry(s.Policy, list(s.Policy.Flow[u.Label]), s.Request, s.d.Action); ok {
			rule := "flow." + string(u.Label) + "." + key
			s.decide(o, rule, reasonOf[u.Label], "it began with a task that is labelled %s, and %s has %s", u.String(), rule, entry)
			return true
		}
	}
	return false
}

var reasonOf = map[label.Label]Reason{label.Private: flowPrivate, label.Untrusted: flowUntrusted}

func (s *state) sawFlow() trace.Step {
	step := trace.Step{Saw: "labelled " + s.labels().String(), Key: "flow"}
	if s.d.Reason == flowPrivate || s.d.Reason == flowUntrusted {
		step.Key = s.d.Rule
	}
	return step
}
