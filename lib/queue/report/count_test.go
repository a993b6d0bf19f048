package report

import (
	"context"
	"errors"
	"testing"
	"time"

	"pulse/lib/queue/clock"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// told is a queue with a log, newest line first. Its last jump, if it has one, is the first of that.
type told struct {
	view
	log  []audit.Line
	hear func() // called for each line
}

func (q *told) View(fn func(store.View) error) error { return fn(q) }

func (q *told) Clock() (now, last time.Time, err error) { return now, q.log[0].Time, nil }

func (q *told) Get(s store.Shelf, _ string) (item store.Item, err error) {
	for i := range q.log {
		if s == store.Clocks && q.log[i].Event == audit.ClockJumped {
			item.Bytes = q.log[i].Append(nil)
			return item, nil
		}
	}
	return item, store.ErrUnknown
}

func (q *told) History(fn func(audit.Line) bool, _ ...task.Event) error {
	for _, l := range q.log {
		if q.hear != nil {
			q.hear()
		}
		if !fn(l) {
			break
		}
	}
	return nil
}

// TestCountAges: lines that a clock dated 1970 are as old as the log says, and end no reading.
func TestCountAges(t *testing.T) {
	started := func(at time.Time) audit.Line {
		return audit.Line{Time: at, Event: task.Started, Kind: task.Ask, Task: yesTo("", at).Task, From: task.Scheduled, To: task.Running, Sender: "a@x"}
	}
	jumped := func(from, to, high time.Time) audit.Line {
		return audit.Line{Time: to, Event: audit.ClockJumped, Change: task.Change{Since: from}, Before: high, Began: time.Unix(60, 0).UTC()}
	}
	left, back, dark := morning.Add(-3*time.Hour), morning.Add(-2*time.Hour), time.Unix(60, 0).UTC()
	q := &told{log: []audit.Line{
		started(morning.Add(-time.Minute)),
		jumped(dark.Add(2*time.Minute), back, left),
		started(dark.Add(time.Minute)),
		jumped(left, dark, time.Time{}),
		yesTo("a@x", left.Add(-time.Minute)), started(left.Add(-time.Hour)),
	}}
	f, err := Count(t.Context(), q, morning, 0)
	if err != nil {
		t.Fatal(err)
	}
	if list := f.month.starts.top(3); len(list) != 1 || list[0].n[0] != 3 {
		t.Errorf("starts: %+v, want 3", list)
	}
	if list := f.month.answersBySender().top(3); len(list) != 1 || list[0].n[0] != 1 {
		t.Errorf("answers: %+v, want one yes", list)
	}
}

// TestCountEnds: figures of which only a part was read when the command was told to end are none.
func TestCountEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	q := &told{log: []audit.Line{yesTo("a@x", morning), yesTo("a@x", morning)}, hear: cancel}
	if f, err := Count(ctx, q, morning, 0); f != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestNotDue: what is not due has not waited, although the clock once went back.
func TestNotDue(t *testing.T) {
	old := morning.AddDate(0, 0, -20)
	c := clock.Clock{Now: morning, Jump: clock.Jump{From: old.Add(2 * time.Hour), To: old, Began: old}, Confirmed: true}
	for name, e := range map[string]store.Entry{
		"put off":  {NotBefore: morning.Add(2 * time.Hour)},
		"standing": {NotBefore: store.Forever},
		"by hand":  {NotBefore: morning.Add(48 * time.Hour), PutOff: true},
	} {
		f := Figures{now: morning, clock: c}
		e.State, e.Since = task.Scheduled, morning.Add(-time.Minute)
		if f.noteWait(e); f.longestDue != 0 {
			t.Errorf("%s: it has waited %v for a start", name, f.longestDue)
		}
	}
	f := Figures{now: morning, clock: c} // from before the clock went back: due since it did
	if f.noteWait(store.Entry{State: task.Scheduled, Since: morning.Add(2 * time.Hour), NotBefore: morning.Add(3 * time.Hour)}); f.longestDue != morning.Sub(old) {
		t.Errorf("it has waited %v, want %v", f.longestDue, morning.Sub(old))
	}
}
