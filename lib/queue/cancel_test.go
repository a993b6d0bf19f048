package queue_test

import (
	"errors"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// cancel cancels a task, and returns it as it was.
func cancel(s *shelf, id string) (was queue.Stored, err error) {
	err = s.update(func(tx *queue.Tx) error {
		was, err = queue.Cancel(tx, id, "me (uid 1)", now)
		return err
	})
	return was, err
}

func TestCancel(t *testing.T) {
	for st, want := range map[task.State]error{
		task.Scheduled: nil, task.Running: nil, task.Awaiting: queue.ErrState, task.Completed: queue.ErrState,
		task.Rejected: queue.ErrState, task.Failed: queue.ErrState, task.Corrupt: queue.ErrState,
	} {
		one := stored(1, st, time.Hour, time.Minute)
		one.Task.Attempts, one.Task.NotBefore = 2, now.Add(time.Hour)
		s := newShelf(t, one)
		was, err := cancel(s, one.Task.ID)
		if !errors.Is(err, want) || was.Task.State != st {
			t.Errorf("%s: %v, it was %s", st, err, was.Task.State)
		}
		if (len(s.lines()) == 1) != (want == nil) {
			t.Fatalf("%s: %+v", st, s.lines())
		}
		if want != nil {
			continue
		}
		l := s.lines()[0]
		if l.To != task.Rejected || l.By != "me (uid 1)" || l.Approval != nil || l.Change.Attempts != 2 ||
			l.Change.Reason != "cancelled" || !l.Change.NotBefore.IsZero() {
			t.Errorf("%s: %+v", st, l)
		}
	}
}

// TestCancelWhatCannotBeRead: to stop something one need not understand it.
func TestCancelWhatCannotBeRead(t *testing.T) {
	for what, item := range map[store.Shelf]string{store.On(task.Running): "{", store.Meta: "{"} {
		one := stored(1, task.Running, 0, 0)
		s := newShelf(t, one)
		s.Lay(what, one.Task.ID, store.Item{Bytes: []byte(item)})
		if _, err := cancel(s, one.Task.ID); err != nil || len(s.lines()) != 1 {
			t.Error(what, err, s.lines())
		}
	}
	s := newShelf(t)
	if _, err := cancel(s, stored(1, task.Running, 0, 0).Task.ID); !errors.Is(err, store.ErrUnknown) {
		t.Error(err)
	}
}
