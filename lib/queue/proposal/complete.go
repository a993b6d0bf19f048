package proposal

import (
	"slices"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
)

// Complete writes out what a policy adds to proposals, so that a yes is bound to it: the scheme
// of a target that is a bare number, and the directory of a program that names none.
func Complete(list []Proposal, p *policy.Policy) []Proposal {
	for i := range list {
		one := &list[i]
		var targets []string
		for _, t := range one.Target {
			if spelled, err := address.Spell(t, p.Outbound.Scheme); err == nil && one.Action.Outward() {
				t = spelled
			}
			if !slices.Contains(targets, t) {
				targets = append(targets, t)
			}
		}
		one.Target = targets
		one.Args = tools.Complete(p, one.Tool, one.Action, one.Args)
	}
	return list
}
