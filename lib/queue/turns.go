package queue

import (
	"cmp"
	"slices"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// turns holds the tasks that a run may start next, oldest first.
//
// Invariant: senders take turns. What a person said yes to goes first. Then that half is next,
// external senders or the rest, whose last start lies furthest back in the log; of the half, that
// sender; and of the sender, the oldest task. Starts of this kind within Window count, those of
// other runs and of readers too, and whoever had none lies furthest back. So from the moment at
// which the first task of a sender is due, no other sender of its half has a second start before
// that task has its first, however much waits: a batch delays its own sender alone.
//
// Caveats. An effect takes a turn of the sender of its ask. A sender is an address: those of one
// domain take a turn each, within the half that externals get. What a limit holds has no turn.
//
// Reading them takes a look at each scheduled task. So a run does that once, and again when the
// log says that another task became scheduled.
type turns struct {
	tasks []*candidate
	cut   bool // a sender has more than these
	head  string
	read  time.Time
}

// candidate is a scheduled task that was due when the turns were read.
type candidate struct {
	store.Entry
	yes bool // a person said yes to it
}

// turnsLast is how long they are good: later, something that was put off may be due.
const turnsLast = time.Minute

// last says which start of those that count was the last one of a sender and of a half, counted
// from 1. What is not in it had none.
type last struct {
	sender map[store.Key]int
	half   map[bool]int // externals, and the rest
	n      int
}

func (l *last) add(st *store.Start) {
	l.n++
	l.sender[st.Sender], l.half[st.External] = l.n, l.n
}

// compare orders two tasks by whose turn it is. Those of one sender are equal.
func (l *last) compare(a, b *store.Entry) int {
	return cmp.Or(cmp.Compare(l.half[a.External], l.half[b.External]), cmp.Compare(l.sender[a.Sender], l.sender[b.Sender]))
}

// next returns the candidate whose turn it is, or nil if none is due now.
func (t *turns) next(l *last, due func(*store.Entry) bool) (first *candidate) {
	for _, c := range t.tasks {
		switch {
		case !due(&c.Entry):
		case first == nil, c.yes && !first.yes, c.yes == first.yes && l.compare(&c.Entry, &first.Entry) < 0:
			first = c
		}
	}
	return first
}

// drop takes out a candidate that was looked at.
func (t *turns) drop(c *candidate) {
	t.tasks = slices.DeleteFunc(t.tasks, func(o *candidate) bool { return o == c })
}

// readAhead reads a candidate together with some others, and notes which: many may be looked at
// before one starts, such as effects that wait for outbound.min_reply_interval.
func (t *turns) readAhead(v store.View, c *candidate, ahead map[string]bool) error {
	const most = 64
	ids := []string{c.ID}
	for _, o := range t.tasks {
		if len(ids) < most && o != c && !ahead[o.ID] {
			ids = append(ids, o.ID)
		}
	}
	for _, id := range ids {
		ahead[id] = true
	}
	return v.Look(ids, true)
}

// good reports whether no task became scheduled since the turns were read. Those that others have
// started meanwhile are taken out.
func (t *turns) good(v store.View, now time.Time) (good bool, err error) {
	if t == nil || now.Before(t.read) || now.Sub(t.read) >= turnsLast {
		return false, nil
	}
	head := v.Counts().Head
	if head == t.head {
		return true, nil
	}
	const most = 1000 // lines; then it is as quick to read the turns
	n, left := 0, map[string]bool{}
	err = v.Back(func(l audit.Line) bool {
		if l.Moves() && l.To == task.Scheduled {
			return false
		}
		if l.From == task.Scheduled {
			left[l.Task] = true
		}
		good = l.Prev == t.head
		n++
		return !good && n < most
	})
	if good {
		t.head = head
		t.tasks = slices.DeleteFunc(t.tasks, func(c *candidate) bool { return left[c.ID] })
	}
	return good, err
}

// readTurns reads the turns: of each sender at most so many tasks, except those that were looked
// at, and all that have a yes. It calls also, if that is not nil, for each task, whether it has a
// turn or not: there may be a hundred thousand, and nobody reads them twice.
func (r *Run) readTurns(
	v store.View, used *usage, now time.Time, most int, looked map[string]bool,
	also func(*store.Entry) (rest bool, err error),
) error {
	t := &turns{head: v.Counts().Head, read: now}
	yeses, err := r.yeses(v)
	if err != nil {
		return err
	}
	had := map[store.Key]int{}
	err = v.Sift(task.Scheduled, func(e store.Entry) (rest bool, err error) {
		if also != nil {
			if rest, err = also(&e); err != nil {
				return false, err
			}
		}
		yes := yeses[e.ID]
		delete(yeses, e.ID)
		if rest = rest || len(yeses) > 0; !r.ofKind(&e) || r.overLimit(&e, used) {
			return rest, nil
		}
		if due, err := r.dueHere(v, &e, used, now); !due || err != nil || looked[e.ID] {
			return true, err
		}
		if had[e.Sender] < most || yes {
			had[e.Sender]++
			t.tasks = append(t.tasks, &candidate{e, yes})
			return true, nil
		}
		t.cut = true
		return rest, nil
	})
	if r.turns = t; err != nil {
		r.turns = nil
	}
	return err
}
