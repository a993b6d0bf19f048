package queue_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

func TestRequeue(t *testing.T) {
	for _, st := range task.States {
		one := outward(stored(1, st, time.Hour, time.Minute))
		one.Task.Attempts, one.Task.Restarts, one.Task.NotBefore = 3, 2, now.Add(time.Hour)
		s := newShelf(t, one)
		may := queue.Requeueable(one) == nil
		err := s.update(func(tx *queue.Tx) error {
			return queue.Requeue(tx, one, queue.Yes(one, "me (uid 1)", approval.Terminal, now), now)
		})
		if may != (err == nil) || may != (st == task.Completed || st == task.Rejected || st == task.Failed) {
			t.Errorf("%s: may %t, %v", st, may, err)
		}
		if err != nil {
			continue
		}
		l := s.lines()[0]
		a := l.Approval
		if l.To != task.Scheduled || l.Change != (task.Change{Since: now, Reason: "requeued"}) || l.By != "me (uid 1)" || l.Level != approval.Terminal {
			t.Errorf("%s: %+v", st, l)
		}
		digest := one.Task.Digest
		if a.Task != one.Task.ID || a.Action != terms.ExternalSend || len(a.Target) != 1 || a.Good(digest, approval.Terminal, now) != nil ||
			a.Good(digest, approval.Terminal, now.Add(approval.Lifetime)) == nil {
			t.Errorf("%s: %+v", st, a)
		}
	}
}

// TestAnswerWhatWasShown: other bytes, another state, or another question at another
// time want another yes or no.
func TestAnswerWhatWasShown(t *testing.T) {
	for _, st := range []task.State{task.Awaiting, task.Failed} {
		for what, change := range map[string]func(*queue.Stored){
			"as shown": func(*queue.Stored) {},
			"edited":   func(s *queue.Stored) { s.Decision.Why = "edited" },
			"moved":    func(s *queue.Stored) { s.Task.State = task.Rejected },
			"again":    func(s *queue.Stored) { s.Task.Since = now },
		} {
			shown, is := stored(1, st, time.Hour, time.Minute), stored(1, st, time.Hour, time.Minute)
			newShelf(t, shown)
			change(is)
			for answer, give := range map[string]func(tx *queue.Tx) error{
				"requeue": func(tx *queue.Tx) error {
					return queue.Requeue(tx, shown, queue.Yes(shown, "me", approval.Terminal, now), now)
				},
				"approve": func(tx *queue.Tx) error {
					return queue.Approve(tx, shown, queue.Yes(shown, "me", approval.Terminal, now), now)
				},
				"deny": func(tx *queue.Tx) error { return queue.Deny(tx, shown, "me", approval.Terminal, "no", now) },
			} {
				s := newShelf(t, is)
				err := s.update(give)
				switch fits := (answer == "requeue") == (st == task.Failed); {
				case what == "as shown" && fits && (err != nil || len(s.lines()) != 1):
					t.Errorf("%s, %s: %v", what, answer, err)
				case what != "as shown" && !errors.Is(err, store.ErrConflict), what != "as shown" && len(s.lines()) > 0:
					t.Errorf("%s, %s: %v, %+v", what, answer, err, s.lines())
				case !fits && (err == nil || len(s.lines()) > 0):
					t.Errorf("%s of what is %s: %v", answer, st, err)
				}
			}
		}
	}
}

func TestHappened(t *testing.T) {
	failed := stored(1, task.Failed, 0, 0)
	failed.Task.Attempts = 1
	died := stored(1, task.Rejected, 0, 0)
	died.Task.Restarts = 1
	cancelled := stored(1, task.Rejected, 0, 0)
	cancelled.Task.Reason = "cancelled"
	for what, c := range map[string]struct {
		s    *queue.Stored
		want bool
	}{
		"done":          {stored(1, task.Completed, 0, 0), true},
		"tried":         {failed, true},
		"died":          {died, true},
		"cancelled":     {cancelled, true},
		"never started": {stored(1, task.Rejected, 0, 0), false},
	} {
		if got := queue.Happened(c.s); (got != "") != c.want {
			t.Errorf("%s: %q", what, got)
		}
	}
	failed.Task.Reason = queue.ReasonNotDone
	got := queue.Happened(failed)
	if !strings.Contains(got, "its sender said that it did not happen") {
		t.Error(got)
	}
	// It counts attempts since the last requeue: one before that may have happened.
	if !strings.Contains(got, "how it ended before") {
		t.Error(got)
	}
	if failed.Task.Attempts = 2; !strings.Contains(queue.Happened(failed), "it was started before") {
		t.Error("an earlier attempt may have happened")
	}
}
