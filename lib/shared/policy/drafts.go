package policy

import "pulse/lib/shared/terms"

// drafted are the actions whose effects can have a draft. What only reads leaves nothing to do
// by hand.
var drafted = []terms.Action{terms.WriteLocal, terms.ExternalSend, terms.Destructive, terms.CodeOrComputer}

func (v *validator) drafts(p *Policy, list []string) {
	if list == nil {
		return
	}
	p.Drafts = []terms.Action{}
	for i := range list {
		var action terms.Action
		oneOf(v, &action, at("drafts.for", i), &list[i], drafted...)
		p.Drafts = append(p.Drafts, action)
	}
}
