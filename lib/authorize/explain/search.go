package explain

import (
	"slices"

	"pulse/lib/shared/terms"
)

// Change is one thing that would decide otherwise: lines of the policy, or what would have
// to be different about the mail.
type Change struct {
	Edits   []Edit // of the policy
	What    string // of the mail or request
	Risk    string // what else the change lets in; empty: nothing
	Outcome terms.Outcome

	apply func(*Subject)
}

// maker returns changes of one kind that may help, the smallest first; one of them is enough. It looks at what was decided
// only to leave out what can't help; whether a change does help is tried.
type maker func(*Subject, *answer) []Change

// The bounds of the search: how many changes are named, how many are made together, and
// how many times a subject with a header of up to fewBytes is decided on.
const (
	mostPolicy = 3
	mostMail   = 1
	mostLess   = 1 // of those that let less through
	mostDeep   = 3
	mostTries  = 200
	fewBytes   = 32 << 10
)

// advise looks for the smallest changes that let more through, of the policy alone and of
// the mail alone; where nothing does, for one of both, or else for those that let less
// through.
func (x *Explanation) advise(now answer) {
	further := func(a *answer) bool { return rank(a.d.Outcome) < rank(now.d.Outcome) }
	x.OfPolicy = search(&x.s, now, widening[:], further, mostPolicy)
	x.OfMail = search(&x.s, now, mailing[:], further, mostMail)
	if len(x.OfPolicy)+len(x.OfMail) == 0 {
		both := slices.Concat(mailing[:], widening[:])
		x.OfPolicy = search(&x.s, now, both, further, 1)
	}
	if len(x.OfPolicy)+len(x.OfMail) == 0 {
		less := func(a *answer) bool { return rank(a.d.Outcome) > rank(now.d.Outcome) }
		x.OfPolicy = search(&x.s, now, narrowing[:], less, mostLess)
	}
}

func rank(o terms.Outcome) int { return slices.Index(terms.Outcomes, o) }

// node is a subject with some changes made.
type node struct {
	s    Subject
	a    answer
	made Change
}

// search tries each change alone. Only if none suffices it adds a second one to those that
// made any difference, and then a third.
func search(s *Subject, now answer, makers []maker, enough func(*answer) bool, most int) (found []Change) {
	level := []node{{s: *s, a: now}}
	tries := mostTries * fewBytes / max(fewBytes, s.size())
	for range mostDeep {
		var next []node
		for i := range level {
			for _, m := range makers {
				for _, c := range m(&level[i].s, &level[i].a) {
					if tries--; tries < 0 || len(found) == most {
						return found
					}
					n := level[i].with(c)
					if enough(&n.a) {
						n.made.Outcome = n.a.d.Outcome
						found = append(found, n.made)
						break // what follows is larger
					}
					if n.a.differs(&level[i].a) {
						next = append(next, n)
					}
				}
			}
		}
		if len(found) > 0 {
			break
		}
		level = next
	}
	return found
}

// differs reports whether another check decides, or decides otherwise.
func (a *answer) differs(from *answer) bool {
	return a.id.Reason != from.id.Reason || a.d.Rule != from.d.Rule || a.d.Reason != from.d.Reason
}

// with returns the node with one more change made.
func (n *node) with(c Change) node {
	out := node{s: n.s, made: n.made}
	c.apply(&out.s)
	before := n.made.apply
	out.made.apply = func(s *Subject) {
		if before != nil {
			before(s)
		}
		c.apply(s)
	}
	out.a = out.s.decide(nil)
	m := &out.made
	m.Edits = append(slices.Clip(n.made.Edits), c.Edits...)
	m.What, m.Risk = and(n.made.What, c.What), and(n.made.Risk, c.Risk)
	return out
}

func and(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; and " + b
}

// size returns how long the header is, in bytes.
func (s *Subject) size() (n int) {
	if s.Message == nil {
		return 0
	}
	for name, value := range s.Message.Fields {
		n += len(name) + len(value)
	}
	return n
}
