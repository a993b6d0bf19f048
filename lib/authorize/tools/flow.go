package tools

import (
	"slices"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// Carried are the tools that pulse-queue carries out without a worker, as write_local. They
// change nothing outside of the queue, and have rules of their own.
var Carried = []string{"draft", "task.close", "task.note"}

// FlowEntry returns the first entry of a list of [flow] that is about an effect of this
// action: the action itself, an action that its tool is bound to, or a pattern of the tool.
// What pulse-queue carries out itself is matched by patterns alone, or an agent's notes and
// the draft that goes with each mail would need a person.
func FlowEntry(p *policy.Policy, list []string, r *request.Request, action terms.Action) (entry string, ok bool) {
	tool := Of(r)
	var does []terms.Action
	if !slices.Contains(Carried, tool) || action != terms.WriteLocal {
		does = append(bound(p, tool), action)
	}
	if tool != "" && len(does) > 0 {
		does = append(does, Action(p, tool)) // also that of a tool without a binding
	}
	for _, entry := range list {
		if slices.Contains(does, terms.Action(entry)) || tool != "" && policy.Match(entry, tool) {
			return entry, true
		}
	}
	return "", false
}

// Message reports whether an effect is a message to its targets and does nothing else: its tool is
// none, or one of those for mail, and no binding of it says more. What any other tool is given
// besides its targets may reach anyone.
func Message(p *policy.Policy, tool string, action terms.Action) bool {
	switch tool {
	case "", "mail.send":
		if action != terms.ExternalSend {
			return false
		}
	case Draft:
		if action != terms.WriteLocal {
			return false
		}
	default:
		return false
	}
	return !slices.ContainsFunc(bound(p, tool), func(a terms.Action) bool { return a != terms.ExternalSend && a != terms.WriteLocal })
}
