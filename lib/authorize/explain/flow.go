package explain

import (
	"maps"
	"slices"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/tools"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
)

// The changes of [flow].

// flowDeny leaves to a person what a label denies, or takes it out of the list.
func flowDeny(s *Subject, a *answer) (list []Change) {
	for _, l := range held(s, a) {
		f := s.Policy.Flow[l]
		kept, out := split(s, a, f.Deny)
		if out == nil {
			continue
		}
		asked := policy.Flow{Confirm: with(f.Confirm, out...), Deny: kept}
		list = append(list, flowChange(l, f, asked, ""),
			flowChange(l, f, policy.Flow{Confirm: f.Confirm, Deny: kept}, loose(l)))
	}
	return list
}

// flowConfirm takes out of the list what a label leaves to a person.
func flowConfirm(s *Subject, a *answer) (list []Change) {
	for _, l := range held(s, a) {
		f := s.Policy.Flow[l]
		if kept, out := split(s, a, f.Confirm); out != nil {
			list = append(list, flowChange(l, f, policy.Flow{Confirm: kept, Deny: f.Deny}, loose(l)))
		}
	}
	return list
}

func loose(l label.Label) string {
	if l == label.Private {
		return "what was read in private can leave by it, and nobody is asked"
	}
	return "what a stranger wrote can bring it about, and nobody is asked"
}

// held returns the labels that count, if [flow] decided.
func held(s *Subject, a *answer) (list []label.Label) {
	if a.d.Reason != decision.FlowPrivate && a.d.Reason != decision.FlowUntrusted {
		return nil
	}
	for _, u := range decision.Counting(s.Policy, &a.id, s.Request, a.d.Action) {
		list = append(list, u.Label)
	}
	return list
}

// split parts a list of [flow] into the entries that are not about the effect, and those
// that are.
func split(s *Subject, a *answer, list []string) (kept, out []string) {
	kept = without(list, func(e string) bool {
		_, hit := tools.FlowEntry(s.Policy, []string{e}, s.Request, a.d.Action)
		if hit {
			out = append(out, e)
		}
		return hit
	})
	return kept, out
}

func flowChange(l label.Label, before, after policy.Flow, risk string) Change {
	var edits []Edit
	for _, list := range []struct {
		key     string
		was, is []string
	}{{"deny", before.Deny, after.Deny}, {"confirm", before.Confirm, after.Confirm}} {
		if !slices.Equal(list.was, list.is) {
			edits = append(edits, Edit{Table: "flow." + string(l), Key: list.key, Value: array(list.is)})
		}
	}
	return change(risk, func(p *policy.Policy) {
		p.Flow = maps.Clone(p.Flow)
		p.Flow[l] = after
	}, edits...)
}
