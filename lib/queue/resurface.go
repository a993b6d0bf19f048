package queue

import (
	"errors"
	"time"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
)

// Resurface tells once more of tasks that have waited for a person for limits.resurface or
// longer: it logs that they were told, which whoever reads the log passes on. more means
// that there may be more of them, for another Update.
func Resurface(tx *Tx, limits *policy.Limits, now time.Time) (more bool, err error) {
	return each(tx, task.Awaiting, func(e *Entry) (bool, error) {
		if !e.Told.IsZero() || now.Sub(e.Since) < limits.Resurface {
			return false, nil
		}
		s, err := Load(tx, task.Awaiting, e.ID)
		if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrUnknown) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return true, tx.Log(s.resurfaced(s.Task.Change, now))
	})
}

// resurfaced returns the line that says that a person is told once more of s. change is as
// it is now.
func (s *Stored) resurfaced(change task.Change, now time.Time) audit.Line {
	change.Told = now.UTC()
	return s.describe(audit.Line{
		Time: change.Told, Event: audit.Resurfaced, Task: s.Task.ID, From: s.Task.State,
		Digest: s.Task.Digest, Change: change,
	})
}
