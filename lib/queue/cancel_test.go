package queue

import (
	"errors"
	"testing"
	"time"

	"pulse/lib/task"
)

func TestCancel(t *testing.T) {
	for st, want := range map[task.State]error{
		task.Scheduled: nil, task.Running: nil, task.Awaiting: ErrState, task.Completed: ErrState,
		task.Rejected: ErrState, task.Failed: ErrState, task.Corrupt: ErrState,
	} {
		one := stored(1, st, time.Hour, time.Minute)
		one.Task.Attempts, one.Task.NotBefore = 2, now.Add(time.Hour)
		s := newShelf(one)
		was, err := Cancel(s, one.Task.ID, "me (uid 1)", now)
		if !errors.Is(err, want) || was.Task.State != st {
			t.Errorf("%s: %v, it was %s", st, err, was.Task.State)
		}
		if (len(s.moved) == 1) != (want == nil) {
			t.Fatalf("%s: %+v", st, s.moved)
		}
		if want != nil {
			continue
		}
		l := s.moved[0]
		if l.To != task.Rejected || l.By != "me (uid 1)" || l.Approval != nil || l.Change.Attempts != 2 ||
			l.Change.Reason != ReasonCancelled || !l.Change.NotBefore.IsZero() {
			t.Errorf("%s: %+v", st, l)
		}
	}
}

// TestCancelWhatCannotBeRead: to stop something one need not understand it.
func TestCancelWhatCannotBeRead(t *testing.T) {
	one := stored(1, task.Running, 0, 0)
	s := newShelf(one)
	s.bad[one.Task.ID] = ErrCorrupt
	if _, err := Cancel(s, one.Task.ID, "me", now); err != nil || len(s.moved) != 1 {
		t.Error(err, s.moved)
	}
}
