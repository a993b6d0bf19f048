package compare

import (
	"fmt"
	"slices"
	"strings"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// explainer finds the keys that make a record be decided otherwise: those without which
// NEW would decide as OLD does.
type explainer struct {
	old, new *policy.Policy
	keys     []key
	without  []*policy.Policy // NEW with the nth key as OLD has it, once it was asked for
	left     int              // how many more decisions may be spent
	size     int              // how much a copy of NEW costs, in decisions
	weight   int
	lines    []line
}

// line is a difference that is going to be reported.
type line struct {
	keys []int
	*found
}

func explain(old, new *policy.Policy) *explainer {
	e := &explainer{old: old, new: new, keys: keysOf(old, new), left: maxRecords, weight: weight(old, new), size: parts(old, new) / 200}
	if len(e.keys) > maxKeys {
		e.keys = []key{{name: "policy", undo: func(p *policy.Policy) { *p = *old }}}
	}
	e.without = make([]*policy.Policy, len(e.keys))
	return e
}

// maxKeys bounds the keys that are told apart.
const maxKeys = 1000

// parts counts what the keys of policies are copied with.
func parts(policies ...*policy.Policy) (n int) {
	for _, p := range policies {
		n += len(p.Senders) + len(p.Platforms) + len(p.Tools.Level) + len(p.Tools.Action) + len(p.Tools.Paths)
		for i := range p.Platforms {
			n += len(p.Platforms[i].Chats)
		}
	}
	return n
}

// undo returns NEW with some keys as OLD has them.
func (e *explainer) undo(keys ...int) *policy.Policy {
	p := *e.new
	for _, i := range keys {
		e.keys[i].undo(&p)
	}
	return &p
}

// alone reports whether NEW would decide as OLD does, had it this one key as OLD has it.
func (e *explainer) alone(f *found, i int) bool {
	if e.left <= 0 || !e.keys[i].may(&f.candidate, f.was.action, f.is.action) {
		return false
	}
	e.left -= e.weight
	p := e.without[i]
	if p == nil {
		e.left -= e.size
		if p = e.undo(i); e.size*len(e.keys) <= maxKeys {
			e.without[i] = p
		}
	}
	return f.answer(p) == f.was
}

// add reports a record, unless a smaller one shows the same.
func (e *explainer) add(f *found) {
	for _, l := range e.lines {
		if len(l.keys) == 1 && l.alike(f) && e.alone(f, l.keys[0]) {
			return
		}
	}
	var keys []int
	for i := range e.keys {
		if e.alone(f, i) {
			keys = append(keys, i)
		}
	}
	if len(keys) == 0 {
		keys = e.together(f)
	}
	again := func(l line) bool { return l.alike(f) && slices.Equal(l.keys, keys) }
	if !slices.ContainsFunc(e.lines, again) {
		e.lines = append(e.lines, line{keys, f})
	}
}

// alike reports whether a record goes the same way.
func (l *line) alike(f *found) bool {
	return l.was.outcome == f.was.outcome && l.is.outcome == f.is.outcome
}

// together returns keys of which none suffices alone, and which do together. None of them
// can be left out, unless there are too many to find out.
func (e *explainer) together(f *found) []int {
	keys := make([]int, len(e.keys))
	for i := range keys {
		keys[i] = i
	}
	for i := range e.keys {
		if e.left <= 0 {
			break
		}
		fewer := slices.DeleteFunc(slices.Clone(keys), func(k int) bool { return k == i })
		if e.left -= len(fewer)*(1+e.size) + e.weight; e.left > 0 && f.answer(e.undo(fewer...)) == f.was {
			keys = fewer
		}
	}
	return keys
}

// differences returns the lines. One that names several keys is left out if a line of one
// of them says as much.
func (e *explainer) differences() (list []Difference, err error) {
	for _, l := range e.lines {
		covered := func(o line) bool {
			return len(o.keys) == 1 && slices.Contains(l.keys, o.keys[0]) &&
				o.was.outcome.Reach() == l.was.outcome.Reach() && o.is.outcome.Reach() == l.is.outcome.Reach()
		}
		if len(l.keys) > 1 && slices.ContainsFunc(e.lines, covered) {
			continue
		}
		if err := l.check(l.record, e.old, e.new, l.was, l.is); err != nil {
			return nil, err
		}
		list = append(list, e.difference(&l))
	}
	return list, nil
}

func (e *explainer) difference(l *line) Difference {
	d := Difference{Direction: Way(l.was.outcome, l.is.outcome), Old: l.was.outcome, New: l.is.outcome, Witness: l.record}
	d.What = l.what + ": "
	if l.request != nil && l.request.Tool != "" {
		d.What = l.what + " as "
	}
	if d.What += string(l.is.action); l.is.action != l.was.action {
		d.What += " instead of " + string(l.was.action)
	}
	var names []string
	for _, i := range l.keys {
		k := &e.keys[i]
		names = append(names, k.name)
		if d.Line == 0 {
			d.File, d.Line = k.file, k.line
		}
	}
	if d.Key = strings.Join(names, ", "); len(names) > 5 {
		d.Key = strings.Join(names[:5], ", ") + fmt.Sprintf(" and %d more", len(names)-5)
	}
	return d
}

// strength orders changes, from reject -> allow down to a change that is neither wider nor
// narrower.
func strength(was, is terms.Outcome) int {
	from, to := was.Reach(), is.Reach()
	switch {
	case to-from == 2 || from-to == 2:
		return 3
	case from != to && min(from, to) == 0:
		return 2
	case from != to:
		return 1
	}
	return 0
}

// Way returns in which direction an outcome differs from another; Other if the record gets as
// far.
func Way(was, is terms.Outcome) Direction {
	switch {
	case is.Reach() > was.Reach():
		return Wider
	case is.Reach() < was.Reach():
		return Narrower
	}
	return Other
}
