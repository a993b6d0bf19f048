package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pulse/lib/authorize/explain"
	"pulse/lib/authorize/replay"
	"pulse/lib/authorize/workspace"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/policy"
)

// What a person always says yes to, a line of the policy may answer. It is proposed, and
// never written by pulse.

// The bounds of what is proposed.
const (
	recursLeast = 5  // answers, all of them yes
	recursTried = 20 // senders with an action that had so many, the most first
	recursShown = 2  // of those that a row would answer
)

// habit is what a person always said yes to.
type habit struct {
	wish
	yes   int
	row   []string // the lines of the policy that would answer it
	whole bool     // they are a new table
}

// always returns what a person always said yes to, the most frequent first: asks that the row of
// a proven sender left to a person. Any other end within the month rules a sender with an action
// out: a no, an expiry, a task that was cancelled, be it an ask or an effect.
func (p *people) always() (list []habit) {
	for k, a := range p.answers {
		if a.rows >= recursLeast && a.no+a.expired+a.stopped == 0 && k.sender != others {
			list = append(list, habit{wish: k, yes: a.rows})
		}
	}
	slices.SortFunc(list, func(a, b habit) int {
		return cmp.Or(b.yes-a.yes, cmp.Compare(a.sender, b.sender), cmp.Compare(a.action, b.action))
	})
	return list[:min(len(list), recursTried)]
}

// readHabits finds what in the policy would answer what a person always said yes to. It is tried
// on the tasks that were answered last.
func (p *Page) readHabits(s Store) error {
	m := p.past.month
	return s.View(func(v store.View) error {
		p.habits = nil
		for _, h := range m.always() {
			subjects, err := p.subjectsOf(v, m.answers[h.wish].newest)
			if err != nil {
				return err
			}
			h.row, h.whole = explain.Row(subjects)
			if h.copyable() && len(p.habits) < recursShown {
				p.habits = append(p.habits, h)
			}
		}
		return nil
	})
}

// subjectsOf loads the tasks that were answered last. What can't be read is left out.
func (p *Page) subjectsOf(v store.View, ids []store.ID) (list []explain.Subject, err error) {
	for _, id := range ids {
		st, err := v.Where(id.String())
		if err == nil {
			var s queue.Stored
			if s, err = queue.Load(v, st, id.String()); err == nil {
				list = append(list, Subject(&s, p.Policy))
			}
		}
		if err != nil && !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrCorrupt) {
			return nil, err
		}
	}
	return list, nil
}

// copyable reports whether there are lines that a person can copy from a mail: no line is
// broken within a word, and nothing in them is escaped.
func (h *habit) copyable() bool {
	for _, l := range h.row {
		for word := range strings.FieldsSeq(l) {
			if len(word) > digestWidth-len(under) || escape.ASCII(word) != word {
				return false
			}
		}
	}
	return len(h.row) > 0
}

// recurs says what a person always said yes to, and what in the policy would answer it.
func (p *Page) recurs() []string {
	if len(p.habits) == 0 {
		return nil
	}
	lines := []string{titled("recurs", fmt.Sprintf("always yes in %d days; for new.toml, a copy of the policy", monthDays))}
	for _, h := range p.habits {
		text := fmt.Sprintf("  you said yes to %d of %d asks of %s for %s", h.yes, h.yes, escape.ASCII(h.sender), h.action)
		lines = append(lines, text)
		if h.whole {
			lines = append(lines, "       # at the end")
		}
		for _, l := range h.row {
			lines = append(lines, "       "+l)
		}
	}
	return append(lines, "  what else that lets in",
		"       pulse-queue list --all --refused --json |",
		`       pulse-authorize diff "$PULSE_POLICY" new.toml --records -`)
}

// Subject returns a task as what run decides on under a policy.
func Subject(s *queue.Stored, p *policy.Policy) explain.Subject {
	who := s.Who()
	return explain.Subject{
		Case:   replay.Case{Origin: identity.Origin{Message: s.Message, Given: &who}, Request: s.Request},
		Policy: p, World: workspace.World{}, Settled: s.Decision.Action,
	}
}
