package compare

import (
	"maps"
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

// flow adds the keys of [flow].
func (k *keys) flow() {
	for _, l := range label.All {
		name, was, is := "flow."+string(l), k.old.Flow[l], k.new.Flow[l]
		undo := func(set func(f *policy.Flow)) key {
			return key{effects: true, undo: func(p *policy.Policy) {
				f, all := p.Flow[l], map[label.Label]policy.Flow{}
				maps.Copy(all, p.Flow)
				set(&f)
				all[l], p.Flow = f, all
			}}
		}
		k.add(!same(was.Confirm, is.Confirm), undo(func(f *policy.Flow) { f.Confirm = was.Confirm }), name+".confirm", 0)
		k.add(!same(was.Deny, is.Deny), undo(func(f *policy.Flow) { f.Deny = was.Deny }), name+".deny", 0)
	}
}

// EffectsDiffer reports whether any effect is decided otherwise under new than under old, or
// whether that could not be found out.
func EffectsDiffer(old, new *policy.Policy) bool {
	s := &search{old: old, new: new, found: map[kind]*found{}, weight: weight(old, new)}
	return long(old, new) || s.effects() != nil || len(s.found) > 0
}
