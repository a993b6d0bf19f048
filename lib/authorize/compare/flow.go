package compare

import (
	"slices"

	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
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

// within looks at messages of which everyone they go to has seen what they are made of. Whoever
// else has seen it makes no difference: it matters whether all targets have, and of several targets
// each shows alone what they show together.
func (s *search) within(w *whose, calls []call, targets [][]string) error {
	for _, target := range targets {
		id := w.effect()
		id.Labels, id.Audience = label.Set{{Label: label.Private}}, audience.Of(target...)
		if err := s.asking(w, id, calls, [][]string{target}); err != nil {
			return err
		}
	}
	return nil
}

// messagesOf returns every call that may be a message to its targets and nothing else, and
// an owner for each way in which the policies judge one as a target. Only of these, and only if private
// counts for the rest, does it matter who is an owner.
func messagesOf(old, new *policy.Policy) (calls []call, targets [][]string, err error) {
	if !flows(old, new, label.Private) {
		return nil, nil, nil
	}
	for _, m := range []call{
		{actions: []terms.Action{terms.ExternalSend}},
		{tool: "mail.send", actions: []terms.Action{terms.ExternalSend}},
		{tool: tools.Draft, actions: []terms.Action{terms.WriteLocal}},
	} {
		some := []call{m}
		if m.tool != "" {
			if some, err = callsOf(old, new, m.tool, nil); err != nil {
				return nil, nil, err
			}
		}
		for _, c := range some {
			c.actions = m.actions
			calls = append(calls, c)
		}
	}
	was, is := audience.Of(old.Owners...), audience.Of(new.Owners...)
	from, to := reachOf(old), reachOf(new)
	judged := map[[4]bool]bool{}
	for _, a := range slices.Concat(new.Owners, old.Owners) {
		it := []string{a}
		key := [4]bool{was.Beyond(it) == nil, is.Beyond(it) == nil, from.to(a), to.to(a)}
		if (key[0] || key[1]) && !judged[key] {
			judged[key] = true
			targets = append(targets, it)
		}
	}
	return calls, targets, nil
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
