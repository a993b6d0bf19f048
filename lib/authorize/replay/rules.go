package replay

import (
	"fmt"
	"maps"
	"slices"

	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// Rule is one thing that a policy says: an action in a row of the matrix that is not
// rejected, an entry of a list, or a table.
type Rule struct {
	Key   string // as in the file, such as owners
	Entry string // what the list has, such as me@example.com; empty for a table
	Nth   int    // which of several tables with that key, from 0
}

// Name returns the rule as people are shown it. Only tables are numbered.
func (r Rule) Name() string {
	if r.Entry == "" {
		return fmt.Sprintf("%s %d", r.Key, r.Nth+1)
	}
	return r.Key + " " + r.Entry
}

// Line returns the line of the policy file that the rule begins on; 0: the file does not
// say it.
func (r Rule) Line(p *policy.Policy) int { return p.Line(r.Key, r.Nth) }

// Rules returns what a policy says, in the order of the manual. Rows of the matrix that
// the file leaves to the default count, because they decide too.
func Rules(p *policy.Policy) (list []Rule) {
	entries := func(key string, values ...string) {
		for _, v := range values {
			list = append(list, Rule{Key: key, Entry: v})
		}
	}
	tables := func(key string, n int) {
		for i := range n {
			list = append(list, Rule{Key: key, Nth: i})
		}
	}
	entries("owners", p.Owners...)
	entries("allowed_external", p.AllowedExternal...)
	entries("accept_automatic", p.AcceptAutomatic...)
	entries("recipients", p.Recipients...)
	tables("receiver", len(p.Receivers))
	tables("action", len(p.ActionRules))
	entries("default_action", string(p.DefaultAction))
	for _, t := range terms.TrustLevels {
		list = append(list, cells(string(t), p.Matrix[t])...)
	}
	for i := range p.Senders {
		list = append(list, cells(p.Senders[i].Name(), p.Senders[i].Row)...)
		entries("matrix."+p.Senders[i].Name()+".tools.allow", p.Senders[i].Tools...)
	}
	for _, l := range label.All {
		entries("flow."+string(l)+".confirm", p.Flow[l].Confirm...)
		entries("flow."+string(l)+".deny", p.Flow[l].Deny...)
	}
	entries("outbound.allow", p.Outbound.Allow...)
	entries("tools.allow", p.Tools.Allow...)
	entries("tools.deny", p.Tools.Deny...)
	entries("tools.level", slices.Sorted(maps.Keys(p.Tools.Level))...)
	entries("tools.action", slices.Sorted(maps.Keys(p.Tools.Action))...)
	entries("tools.paths", slices.Sorted(maps.Keys(p.Tools.Paths))...)
	tables("exec.allow", len(p.Exec.Allow))
	chats := 0
	for i := range p.Platforms {
		pl := &p.Platforms[i]
		list = append(list, Rule{"platform", pl.Source, i})
		for j := range pl.Chats {
			c := &pl.Chats[j]
			list = append(list, chatRule(c, chats))
			for _, glob := range c.Tools {
				list = append(list, chatTool(c, chats, glob))
			}
			chats++
		}
	}
	return list
}

func chatRule(c *policy.Chat, nth int) Rule { return Rule{"platform.chat", string(c.ID), nth} }

func chatTool(c *policy.Chat, nth int, glob string) Rule {
	return Rule{"platform.chat", string(c.ID) + " tools.allow " + glob, nth}
}

// cells returns a rule for each action that a row does not reject.
func cells(name string, row policy.Row) (list []Rule) {
	for _, o := range terms.Outcomes {
		for _, a := range terms.Actions {
			if o != terms.Reject && row.Outcome(a) == o {
				list = append(list, cell(name, o, a))
			}
		}
	}
	return list
}

func cell(name string, o terms.Outcome, a terms.Action) Rule {
	return Rule{Key: "matrix." + name + "." + string(o), Entry: string(a)}
}
