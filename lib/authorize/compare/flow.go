package compare

import (
	"slices"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
)

// flows reports whether one of the policies says anything about a label.
func flows(old, new *policy.Policy, l label.Label) bool {
	_, was := old.Flow[l]
	_, is := new.Flow[l]
	return was || is
}

// labelled returns the effects that began with a sender: one without labels, and one for
// each label that a policy says something about. Two labels forbid what one of them does,
// and so show nothing that neither of them shows alone.
func (w *whose) labelled(old, new *policy.Policy) []*identity.Identity {
	list := []*identity.Identity{w.effect()}
	for _, l := range label.All {
		if flows(old, new, l) && label.Of(w.trust).Use(l) == nil {
			id := w.effect()
			id.Labels = label.Set{{Label: l}}
			list = append(list, id)
		}
	}
	return list
}

// flowEntries returns the entries of [flow].
func flowEntries(p *policy.Policy) (list []string) {
	for _, l := range label.All {
		list = slices.Concat(list, p.Flow[l].Confirm, p.Flow[l].Deny)
	}
	return list
}

// EffectsDiffer reports whether any effect is decided otherwise under new than under old, or
// whether that could not be found out.
func EffectsDiffer(old, new *policy.Policy) bool {
	s := newSearch(old, new)
	return long(old, new) || s.effects() != nil || len(s.found) > 0
}
