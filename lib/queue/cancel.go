package queue

import (
	"errors"
	"fmt"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// ErrState means that the state of a task does not allow what was asked for.
var ErrState = errors.New("not in that state")

// Cancel ends a task that is scheduled or running, and returns it as it was. Its file
// need not be readable. For a task in any other state the error is ErrState.
func Cancel(tx *Tx, id, by string, now time.Time) (Stored, error) {
	s, err := Find(tx, id)
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return s, err
	}
	if s.Task.State != task.Scheduled && s.Task.State != task.Running {
		return s, fmt.Errorf("%w: task %s is %s", ErrState, s.Task.ID, s.Task.State)
	}
	change := s.Task.Change
	change.Since, change.NotBefore, change.Reason = now.UTC(), time.Time{}, reasonCancelled
	line := s.move(task.Cancelled, task.Rejected, change)
	line.By = by
	return s, tx.Move(line)
}
