package tools

import (
	"slices"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// Binding says which action the tools that match a pattern have.
type Binding struct {
	Tool   string // a glob
	Action terms.Action
	Only   bool // not a stronger action either, because the worker goes by the tool
}

// Bindings are the bindings that no policy can loosen. A tool without a binding, here or
// in tools.action of the policy, may do anything, and so counts as running code.
var Bindings = []Binding{
	{"calendar.read", terms.ReadPrivate, false},
	{"draft", terms.WriteLocal, false},
	{execTool, terms.CodeOrComputer, true},
	{"fs.edit", terms.WriteLocal, false},
	{"fs.list", terms.ReadPrivate, false},
	{"fs.read", terms.ReadPrivate, false},
	{"fs.search", terms.ReadPrivate, false},
	{"fs.write", terms.WriteLocal, false},
	{Draft, terms.WriteLocal, true},
	{"mail.read", terms.ReadPrivate, false},
	{"mail.search", terms.ReadPrivate, false},
	{"mail.send", terms.ExternalSend, true},
	{"task.*", terms.WriteLocal, false},
	{"web.fetch", terms.ReadPublic, false},
	{"web.search", terms.ReadPublic, false},
}

// Draft is the tool that writes a mail for a person to send. Its targets are judged as
// if the mail were sent.
const Draft = "mail.draft"

// BuiltIn reports whether a tool is one of pulse's own, whose action is fixed.
func BuiltIn(tool string) bool { return builtinAction(tool) != nil }

// builtinAction returns the tool's binding in Bindings, or nil.
func builtinAction(tool string) *Binding {
	for i := range Bindings {
		if policy.Match(Bindings[i].Tool, tool) {
			return &Bindings[i]
		}
	}
	return nil
}

// Action returns the weakest action that a request naming a tool may have: the strongest
// among all bindings that match.
func Action(p *policy.Policy, tool string) terms.Action {
	strongest := -1
	if b := builtinAction(tool); b != nil {
		strongest = strength(b.Action)
	}
	for glob, action := range p.Tools.Action {
		if policy.Match(glob, tool) {
			strongest = max(strongest, strength(action))
		}
	}
	if strongest < 0 {
		return terms.CodeOrComputer
	}
	return terms.Actions[strongest]
}

// fits reports whether a request that names the tool may have the action. An action
// weaker than what the tool does is refused, or it could start without a person's yes.
func fits(p *policy.Policy, tool string, action terms.Action) bool {
	if b := builtinAction(tool); b != nil && b.Only && action != b.Action {
		return false
	}
	return strength(action) >= strength(Action(p, tool))
}

func strength(a terms.Action) int { return slices.Index(terms.Actions, a) }

// Looser returns the built-in bindings that an entry of tools.action can't change,
// because the entry is weaker.
func Looser(glob string, action terms.Action) (kept []Binding) {
	for _, b := range Bindings {
		if policy.Match(glob, b.Tool) && strength(action) < strength(b.Action) {
			kept = append(kept, b)
		}
	}
	return kept
}
