package explain

import (
	"slices"
	"strconv"
	"strings"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// Edit is a key of the policy with the value that it would have to have.
type Edit struct {
	Table string // in which it stands; empty: at the top
	Nth   int    // which of several tables of that name, from 0; New: one more
	In    int    // [[platform.chat]]: of which [[platform]]
	Key   string
	Value string // as TOML
}

// New is the number of a table that is not there yet.
const New = -1

// change makes the edits on a copy of the policy.
func change(risk string, apply func(*policy.Policy), edits ...Edit) Change {
	return Change{Edits: edits, Risk: risk, apply: func(s *Subject) {
		p := *s.Policy
		apply(&p)
		s.Policy = &p
	}}
}

// lists are the keys of the policy that hold a list.
var (
	owners          = listKey{"", "owners", func(p *policy.Policy) *[]string { return &p.Owners }}
	allowedExternal = listKey{"", "allowed_external", func(p *policy.Policy) *[]string { return &p.AllowedExternal }}
	recipients      = listKey{"", "recipients", func(p *policy.Policy) *[]string { return &p.Recipients }}
	acceptUnsigned  = listKey{"", "accept_unsigned", func(p *policy.Policy) *[]string { return &p.AcceptUnsigned }}
	acceptAutomatic = listKey{"", "accept_automatic", func(p *policy.Policy) *[]string { return &p.AcceptAutomatic }}
	toolsAllow      = listKey{"tools", "allow", func(p *policy.Policy) *[]string { return &p.Tools.Allow }}
	toolsDeny       = listKey{"tools", "deny", func(p *policy.Policy) *[]string { return &p.Tools.Deny }}
	execWrite       = listKey{"exec", "write", func(p *policy.Policy) *[]string { return &p.Exec.Write }}
	outboundAllow   = listKey{"outbound", "allow", func(p *policy.Policy) *[]string {
		p.Outbound.Restricted = true
		return &p.Outbound.Allow
	}}
)

// listKey is one of them: its table and name, and where the policy keeps it.
type listKey struct {
	table, name string
	of          func(*policy.Policy) *[]string
}

// set gives the key another list.
func (k listKey) set(risk string, list []string) []Change {
	return []Change{change(risk, func(p *policy.Policy) { *k.of(p) = list },
		Edit{Table: k.table, Key: k.name, Value: array(list)})}
}

// with returns the list followed by more, and leaves the list alone.
func with[T any](list []T, more ...T) []T { return append(slices.Clip(list), more...) }

// without returns a copy of the list without what drop reports. It is not nil.
func without[T any](list []T, drop func(T) bool) []T {
	return slices.DeleteFunc(append([]T{}, list...), drop)
}

// array returns a list as TOML.
func array[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = strconv.Quote(string(w))
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// plain reports whether all words can be written into a policy as they are.
func plain(words ...string) bool {
	return !slices.ContainsFunc(words, func(w string) bool {
		return w == "" || strings.IndexFunc(w, func(r rune) bool { return r < ' ' || r > '~' }) >= 0
	})
}

// rowEdits are the lists of a row. A row in the file stands in for the default row as a
// whole, so a row that is not there yet is written whole.
func rowEdits(p *policy.Policy, name string, before, after policy.Row) (edits []Edit) {
	table := "matrix." + name
	there := p.Line(table, 0) != 0
	for _, o := range []terms.Outcome{terms.Allow, terms.Confirm, terms.Review} {
		there = there || p.Line(table+"."+string(o), 0) != 0
	}
	for _, o := range []terms.Outcome{terms.Allow, terms.Confirm, terms.Review} {
		is, was := listOf(after, o), listOf(before, o)
		if there && slices.Equal(is, was) || !there && len(is) == 0 {
			continue
		}
		edits = append(edits, Edit{Table: table, Key: string(o), Value: array(is)})
	}
	if edits == nil && !there { // a row that lists nothing
		edits = []Edit{{Table: table, Key: string(terms.Allow), Value: "[]"}}
	}
	return edits
}

func listOf(row policy.Row, o terms.Outcome) (list []terms.Action) {
	for _, a := range terms.Actions {
		if row.Outcome(a) == o {
			list = append(list, a)
		}
	}
	return list
}
