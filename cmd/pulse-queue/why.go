package main

import (
	"bufio"
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// cause is why something was not allowed.
type cause struct {
	outcome        terms.Outcome
	reason         string
	rule, identity string
	hook           bool // a run decided so about uses of a tool
}

// toll is how often there was a cause, and for whom.
type toll struct {
	cause
	times   int
	senders frequent
}

// tally counts causes. Its memory is bounded, whatever the log holds.
type tally struct {
	causes  map[cause]*toll
	others  int // lines with a cause beyond maxCauses
	limited []string
}

func newTally() *tally { return &tally{causes: map[cause]*toll{}} }

// maxCauses bounds how many causes are told apart. A policy has fewer.
const maxCauses = 500

// why counts the reasons in the selected lines and prints them.
func why(c *cli.Context, s queue.Store, sel *selection, lines queue.Lines, out *bufio.Writer) error {
	t := newTally()
	err := lines(func(_ []byte, l *audit.Line) error {
		t.hear(sel, l)
		return c.Context.Err()
	})
	if err != nil {
		return err
	}
	var counts queue.Counts
	if err := s.View(func(v queue.View) error { counts = v.Counts(); return nil }); err != nil {
		return err
	}
	t.days(sel, &counts)
	if c.Bool("json") {
		return t.json(out, &counts)
	}
	return t.table(out, &counts)
}

// hear counts a line of the log, if it is selected.
func (t *tally) hear(sel *selection, l *audit.Line) {
	if l.Event == audit.Limited {
		t.limited = append(t.limited, l.Time.UTC().Format(time.DateOnly))
	}
	if l.Event == task.Refused { // for the sender's quota, too, whatever the policy says
		l.Outcome = terms.Reject
	}
	if sel.has(l) {
		t.add(l, sel.outcome)
	}
}

// days keeps the days of which not every refusal is in the log. The line that says so may be
// from before the lines that were read.
func (t *tally) days(sel *selection, counts *queue.Counts) {
	if sel.task != "" || sel.event != "" && sel.event != task.Refused || sel.outcome != "" && sel.outcome != terms.Reject {
		t.limited = nil
		return
	}
	today := counts.Refused > queue.MaxRefusals && counts.Day >= sel.since.UTC().Format(time.DateOnly)
	if today && !slices.Contains(t.limited, counts.Day) {
		t.limited = append(t.limited, counts.Day)
	}
}

// add counts a line if it says that something was not allowed, or was decided as wanted.
func (t *tally) add(l *audit.Line, want terms.Outcome) {
	k := cause{outcome: l.Outcome, reason: l.Change.Reason, rule: l.Rule, identity: l.IdentityReason}
	times := 1
	switch l.Event {
	case task.Refused, task.Added, task.Parked, task.Dropped:
	case audit.Judged:
		k.hook, times = true, l.Count
	default:
		return
	}
	if let := l.Event == audit.Judged || l.Event == task.Added && k.reason != queue.ReasonSessionSpent; let &&
		k.outcome == terms.Allow && want == "" {
		return
	}
	one := t.causes[k]
	if one == nil && len(t.causes) >= maxCauses {
		t.others += times
		return
	}
	if one == nil {
		k.reason, k.rule, k.identity = strings.Clone(k.reason), strings.Clone(k.rule), strings.Clone(k.identity)
		one = &toll{cause: k}
		t.causes[k] = one
	}
	one.times += times
	if !k.hook {
		one.senders.add(l.Sender)
	}
}

// sorted returns the causes, the most frequent first.
func (t *tally) sorted() []*toll {
	return slices.SortedFunc(maps.Values(t.causes), func(a, b *toll) int {
		return cmp.Or(cmp.Compare(b.times, a.times), cmp.Compare(a.outcome, b.outcome), cmp.Compare(a.reason, b.reason),
			cmp.Compare(a.rule, b.rule), cmp.Compare(a.identity, b.identity))
	})
}
