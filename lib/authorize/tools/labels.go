package tools

import (
	"slices"

	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// gives says which label an action gives the root task. What is public was written by
// anyone.
var gives = map[terms.Action]label.Label{
	terms.ReadPrivate: label.Private,
	terms.ReadPublic:  label.Untrusted,
}

// Labels returns the labels, sorted, that the root task gets once an effect or the use of a
// tool is allowed: by its action, and by every binding of its tool, because a binding to a
// stronger action adds to what the tool does. tool is empty if there is none.
func Labels(p *policy.Policy, tool string, action terms.Action) (list []label.Label) {
	does := append(bound(p, tool), action)
	for _, l := range label.All {
		if slices.ContainsFunc(does, func(a terms.Action) bool { return gives[a] == l }) {
			list = append(list, l)
		}
	}
	return list
}

// bound returns the actions of all bindings that match a tool.
func bound(p *policy.Policy, tool string) (list []terms.Action) {
	if b := builtinAction(tool); b != nil {
		list = append(list, b.Action)
	}
	for glob, action := range p.Tools.Action {
		if tool != "" && policy.Match(glob, tool) {
			list = append(list, action)
		}
	}
	return list
}
