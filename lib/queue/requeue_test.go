package queue

import (
	"errors"
	"testing"
	"time"

	"pulse/lib/approval"
	"pulse/lib/task"
	"pulse/lib/terms"
)

func TestRequeue(t *testing.T) {
	for _, st := range task.States {
		one := outward(stored(1, st, time.Hour, time.Minute))
		one.Task.Attempts, one.Task.Restarts, one.Task.NotBefore = 3, 2, now.Add(time.Hour)
		s := newShelf(one)
		may := Requeueable(&one) == nil
		err := Requeue(s, &one, Yes(&one, "me (uid 1)", approval.Terminal, now), now)
		if may != (err == nil) || may != (st == task.Completed || st == task.Rejected || st == task.Failed) {
			t.Errorf("%s: may %t, %v", st, may, err)
		}
		if err != nil {
			continue
		}
		l := s.moved[0]
		a := l.Approval
		if l.To != task.Scheduled || l.Change != (task.Change{Since: now, Reason: ReasonRequeued}) || l.By != "me (uid 1)" || l.Level != approval.Terminal {
			t.Errorf("%s: %+v", st, l)
		}
		if a.Task != one.Task.ID || a.Action != terms.ExternalSend || len(a.Target) != 1 || a.Good("sha256:d", approval.Terminal, now) != nil ||
			a.Good("sha256:d", approval.Terminal, now.Add(approval.Lifetime)) == nil {
			t.Errorf("%s: %+v", st, a)
		}
	}
}

// TestRequeueWhatWasShown: other bytes, or another state, want another yes.
func TestRequeueWhatWasShown(t *testing.T) {
	shown := stored(1, task.Failed, time.Hour, time.Minute)
	edited, moved := shown, shown
	edited.Task.Digest = "sha256:other"
	moved.Task.State = task.Rejected
	for what, is := range map[string]Stored{"edited": edited, "moved": moved} {
		s := newShelf(is)
		if err := Requeue(s, &shown, Yes(&shown, "me", approval.Terminal, now), now); !errors.Is(err, ErrConflict) || len(s.moved) > 0 {
			t.Errorf("%s: %v, %+v", what, err, s.moved)
		}
	}
}

func TestHappened(t *testing.T) {
	failed := stored(1, task.Failed, 0, 0)
	failed.Task.Attempts = 1
	died := stored(1, task.Rejected, 0, 0)
	died.Task.Restarts = 1
	cancelled := stored(1, task.Rejected, 0, 0)
	cancelled.Task.Reason = ReasonCancelled
	for what, c := range map[string]struct {
		s    Stored
		want bool
	}{
		"done":          {stored(1, task.Completed, 0, 0), true},
		"tried":         {failed, true},
		"died":          {died, true},
		"cancelled":     {cancelled, true},
		"never started": {stored(1, task.Rejected, 0, 0), false},
	} {
		if got := Happened(&c.s); (got != "") != c.want {
			t.Errorf("%s: %q", what, got)
		}
	}
}
