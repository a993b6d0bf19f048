package policy

import (
	"strings"

	"pulse/lib/shared/label"
	"pulse/lib/shared/terms"
)

// Flow is what [flow] says of one label: what of a labelled task needs a person, and what is
// rejected. Both are actions and globs of tools.
type Flow struct {
	Confirm, Deny []string
}

func (v *validator) flow(p *Policy, l label.Label, t flowTable) {
	key := "flow." + string(l)
	f := Flow{v.flowEntries(key+".confirm", t.Confirm), v.flowEntries(key+".deny", t.Deny)}
	if f.Confirm == nil && f.Deny == nil {
		return
	}
	if p.Flow == nil {
		p.Flow = map[label.Label]Flow{}
	}
	p.Flow[l] = f
}

// flowEntries checks entries of [flow]: actions, and patterns of tools. An action that is
// misspelt would be the name of a tool which nobody has, and so hold nothing back. An
// empty list is none.
func (v *validator) flowEntries(key string, list []string) []string {
	if len(list) == 0 {
		return nil
	}
	actions := words(terms.Actions)
	for i, entry := range list {
		if terms.Action(entry).Valid() {
			continue
		}
		tool := ToolName(strings.ReplaceAll(entry, "*", "x"))
		like := nearest(entry, actions)
		switch {
		case tool && (like == "" || strings.ContainsAny(entry, "*.:/")):
		case like != "":
			v.fail(at(key, i), "%s is neither an action nor a tool: did you mean %s?", entry, like)
		default:
			v.fail(at(key, i), "%s: want one of %s, or a tool in lower case, in which * stands for anything", entry, join(terms.Actions))
		}
	}
	return list
}
