package compare

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// key is a key of the policy file in which OLD and NEW differ, as far as single records
// depend on it.
type key struct {
	name   string
	file   string // the policy that has it, and where
	line   int
	undo   func(p *policy.Policy) // gives a copy of NEW what OLD says
	action terms.Action           // a cell of the matrix: what it is about
	tools  bool                   // it is about effects that name a tool
	mail   bool                   // it is about who sent a message, or what a message asks for

	effects bool // it is about effects
}

// may reports whether the key can make a difference for a record.
func (k *key) may(c *candidate, actions ...terms.Action) bool {
	tool := c.request != nil && c.request.Tool != ""
	switch {
	case k.tools:
		return tool
	case k.mail:
		return c.message != nil
	case k.effects:
		return c.given != nil && c.given.Effect()
	}
	return k.action == "" || tool || slices.Contains(actions, k.action)
}

// keys collects the keys that differ.
type keys struct {
	old, new *policy.Policy
	list     []key
}

func (k *keys) add(differs bool, it key, name string, nth int) {
	if !differs {
		return
	}
	if it.name == "" {
		it.name = name
	}
	it.file, it.line = k.new.Name, k.new.Line(name, nth)
	if it.line == 0 {
		it.file, it.line = k.old.Name, k.old.Line(name, nth)
	}
	k.list = append(k.list, it)
}

// keysOf returns the keys in which the policies differ, except those that decide nothing
// about a single record: see values.
func keysOf(old, new *policy.Policy) []key {
	k := &keys{old: old, new: new}
	k.senders()
	k.receivers()
	k.matrix()
	k.rows()
	k.platforms()
	k.effects()
	k.flow()
	return k.list
}

func plain[T any](k *keys, it key, name string, field func(p *policy.Policy) *T) {
	was := *field(k.old)
	it.undo = func(p *policy.Policy) { *field(p) = was }
	k.add(!reflect.DeepEqual(was, *field(k.new)), it, name, 0)
}

func (k *keys) senders() {
	mail := key{mail: true}
	plain(k, mail, "owners", func(p *policy.Policy) *[]string { return &p.Owners })
	plain(k, mail, "allowed_external", func(p *policy.Policy) *[]string { return &p.AllowedExternal })
	plain(k, mail, "accept_automatic", func(p *policy.Policy) *[]string { return &p.AcceptAutomatic })
	plain(k, mail, "recipients", func(p *policy.Policy) *[]string { return &p.Recipients })
	plain(k, mail, "max_age", func(p *policy.Policy) *time.Duration { return &p.MaxAge })
	plain(k, mail, "accept_unsigned", func(p *policy.Policy) *[]string { return &p.AcceptUnsigned })
	plain(k, mail, "default_action", func(p *policy.Policy) *terms.Action { return &p.DefaultAction })
	k.table(mail, "action", differing(k.old.ActionRules, k.new.ActionRules), func(p *policy.Policy) { p.ActionRules = k.old.ActionRules })
}

func (k *keys) receivers() {
	mail := key{mail: true}
	plain(k, mail, "authserv_id", func(p *policy.Policy) *[]string { return &p.AuthservIDs })
	plain(k, mail, "verdict", func(p *policy.Policy) *policy.Verdict { return &p.Verdict })
	k.table(mail, "receiver", differing(k.old.Receivers, k.new.Receivers), func(p *policy.Policy) { p.Receivers = k.old.Receivers })
	plain(k, mail, "dkim_alignment", func(p *policy.Policy) *policy.Alignment { return &p.DKIMAlignment })
	plain(k, mail, "evidence", func(p *policy.Policy) *policy.Evidence { return &p.Evidence })
}

// table adds a list of tables of which the nth is the first that differs.
func (k *keys) table(it key, name string, nth int, undo func(p *policy.Policy)) {
	it.undo = undo
	k.add(nth >= 0, it, name, nth)
}

// differing returns the index of the first element that is not the same in both; -1: none.
func differing[T any](a, b []T) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || !reflect.DeepEqual(a[i], b[i]) {
			return i
		}
	}
	return -1
}

// lists are the keys of a row by the outcome that they give.
var lists = map[terms.Outcome]string{
	terms.Allow: ".allow", terms.Confirm: ".require_owner_confirmation", terms.Review: ".queue_for_review",
}

// cells adds a key for each action for which two rows differ.
func (k *keys) cells(row string, was, is policy.Row, set func(p *policy.Policy, row policy.Row)) {
	for _, a := range terms.Actions {
		from, to := was.Outcome(a), is.Outcome(a)
		name := "matrix." + row + lists[to]
		if to == terms.Reject {
			name = "matrix." + row + lists[from]
		}
		k.add(from != to, key{action: a, undo: func(p *policy.Policy) {
			row := maps.Clone(is)
			if row == nil {
				row = policy.Row{}
			}
			row[a] = from
			set(p, row)
		}}, name, 0)
		if last := len(k.list) - 1; from != to && k.list[last].line == 0 { // the list is not there, but the row is
			k.list[last].line, k.list[last].file = k.new.Line("matrix."+row, 0), k.new.Name
		}
	}
}

func (k *keys) matrix() {
	for _, t := range terms.TrustLevels {
		k.cells(string(t), k.old.Matrix[t], k.new.Matrix[t], func(p *policy.Policy, row policy.Row) {
			p.Matrix = maps.Clone(p.Matrix)
			p.Matrix[t] = merged(p.Matrix[t], row, k.new.Matrix[t])
		})
	}
}

// merged returns row with the cells of changed that are not those of base, so that several
// cells of a row can be undone.
func merged(row, changed, base policy.Row) policy.Row {
	out := policy.Row{}
	for _, a := range terms.Actions {
		if out[a] = row.Outcome(a); changed.Outcome(a) != base.Outcome(a) {
			out[a] = changed.Outcome(a)
		}
	}
	return out
}

// rows adds the rows of single senders.
func (k *keys) rows() {
	for i := range k.old.Senders {
		was := &k.old.Senders[i]
		is := rowOf(k.new, was.Sender)
		name := "matrix." + was.Name()
		if is == nil {
			k.add(true, key{undo: func(p *policy.Policy) { p.Senders = append(slices.Clone(p.Senders), *was) }}, name, 0)
			continue
		}
		edit := func(p *policy.Policy, fn func(row *policy.SenderRow)) {
			p.Senders = slices.Clone(p.Senders)
			fn(rowOf(p, was.Sender))
		}
		k.cells(is.Name(), was.Row, is.Row, func(p *policy.Policy, row policy.Row) {
			edit(p, func(r *policy.SenderRow) { r.Row = merged(r.Row, row, is.Row) })
		})
		k.add(!same(was.Tools, is.Tools), key{tools: true, undo: func(p *policy.Policy) {
			edit(p, func(r *policy.SenderRow) { r.Tools = was.Tools })
		}}, "matrix."+is.Name()+".tools.allow", 0)
	}
	for i := range k.new.Senders {
		is := &k.new.Senders[i]
		k.add(rowOf(k.old, is.Sender) == nil, key{undo: func(p *policy.Policy) {
			p.Senders = slices.DeleteFunc(slices.Clone(p.Senders), func(r policy.SenderRow) bool { return address.Equal(r.Sender, is.Sender) })
		}}, "matrix."+is.Name(), 0)
	}
}

// rowOf returns the row that the policy has for exactly this address or domain, or nil.
func rowOf(p *policy.Policy, sender string) *policy.SenderRow {
	for i := range p.Senders {
		if address.Equal(p.Senders[i].Sender, sender) {
			return &p.Senders[i]
		}
	}
	return nil
}

// same reports whether two lists are equal; an absent one is not an empty one.
func same(a, b []string) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) }

// effects adds the keys that only effects depend on.
func (k *keys) effects() {
	tool := key{tools: true}
	plain(k, key{}, "outbound.allow", func(p *policy.Policy) *[]string { return &p.Outbound.Allow })
	if k.old.Outbound.Restricted != k.new.Outbound.Restricted {
		k.list = slices.DeleteFunc(k.list, func(it key) bool { return it.name == "outbound.allow" })
		k.add(true, key{undo: func(p *policy.Policy) {
			p.Outbound.Restricted, p.Outbound.Allow = k.old.Outbound.Restricted, k.old.Outbound.Allow
		}}, "outbound.allow", 0)
	}
	plain(k, tool, "tools.profile", func(p *policy.Policy) *string { return &p.Tools.Profile })
	plain(k, tool, "tools.allow", func(p *policy.Policy) *[]string { return &p.Tools.Allow })
	plain(k, tool, "tools.deny", func(p *policy.Policy) *[]string { return &p.Tools.Deny })
	globs(k, "tools.level.", func(p *policy.Policy) *map[string]string { return &p.Tools.Level })
	globs(k, "tools.action.", func(p *policy.Policy) *map[string]terms.Action { return &p.Tools.Action })
	globs(k, "tools.paths.", func(p *policy.Policy) *map[string][]string { return &p.Tools.Paths })
	plain(k, tool, "exec.mode", func(p *policy.Policy) *string { return &p.Exec.Mode })
	plain(k, tool, "exec.workspace", func(p *policy.Policy) *string { return &p.Exec.Workspace })
	plain(k, tool, "exec.write", func(p *policy.Policy) *[]string { return &p.Exec.Write })
	k.table(tool, "exec.allow", differing(k.old.Exec.Allow, k.new.Exec.Allow), func(p *policy.Policy) { p.Exec.Allow = k.old.Exec.Allow })
}

// globs adds a key for each pattern for which two tables differ.
func globs[V any](k *keys, table string, field func(p *policy.Policy) *map[string]V) {
	old, new := *field(k.old), *field(k.new)
	all := maps.Clone(old)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, new)
	for _, glob := range slices.Sorted(maps.Keys(all)) {
		was, had := old[glob]
		is, has := new[glob]
		k.add(had != has || !reflect.DeepEqual(was, is), key{tools: true, undo: func(p *policy.Policy) {
			m := maps.Clone(*field(p))
			if m == nil {
				m = map[string]V{}
			}
			if *field(p) = m; had {
				m[glob] = was
			} else {
				delete(m, glob)
			}
		}}, table+strconv.Quote(glob), 0)
	}
}
