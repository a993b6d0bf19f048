package queue

import (
	"fmt"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/task"
)

// Requeueable returns nil if a task can be put back to scheduled, or ErrState.
func Requeueable(s *Stored) error {
	if task.Legal(task.Requeued, s.Task.State, task.Scheduled) == nil {
		return nil
	}
	return fmt.Errorf("%w: task %s is %s", ErrState, s.Task.ID, s.Task.State)
}

// Requeue moves the task that was shown back to scheduled, as if it had never been
// started. What its worker is told must be what was shown. yes is a person's yes to doing it,
// or doing it again.
func Requeue(tx *Tx, shown *Stored, yes approval.Approval, now time.Time) error {
	s, err := same(tx, shown)
	if err != nil {
		return err
	}
	if err := shown.past.unchanged(tx); err != nil {
		return err
	}
	line := s.move(task.Requeued, task.Scheduled, task.Change{Since: now.UTC(), Reason: reasonRequeued})
	line.By, line.Level, line.Approval = yes.By, yes.Level, &yes
	return tx.Move(line)
}

// Happened returns why a task that a person is about to requeue may have been done
// already, or the empty string.
func Happened(s *Stored) string {
	again := "look before you say yes"
	if s.Outward() {
		again = "it reaches the outside: " + again
	}
	switch {
	case s.Task.State == task.Completed:
		return "it was done before, and will be done again; " + again
	case s.Task.Reason == ReasonNotDone && s.Task.Attempts+s.Task.Restarts == 1:
		return "the last time, its sender said that it did not happen; " +
			"pulse-queue show tells what it said, and how it ended before, if it was requeued"
	case s.Task.Attempts+s.Task.Restarts > 0:
		return "it was started before, and may have been done in part or whole; " + again
	case s.Task.Reason == reasonCancelled:
		return "if it was running when it was cancelled, it may have been done in part or whole; " + again
	}
	return ""
}
