package queue

import (
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
)

// Resurface tells once more of tasks that have waited for a person for limits.resurface or
// longer: it logs that they were told, which whoever reads the log passes on. more means
// that there may be more of them, for another Update. While the clock is not believed, it tells
// of none: what was told expires.
func Resurface(tx *Tx, limits *policy.Limits, now time.Time) (more bool, err error) {
	c, err := ClockOf(tx, now)
	if err != nil {
		return false, err
	}
	return each(tx, task.Awaiting, func(e *store.Entry) (bool, error) {
		if !e.Told.IsZero() || c.Now.Sub(c.Of(e.Since)) < limits.Resurface || tx.doubts(&c) {
			return false, nil
		}
		s, err := readable(tx, task.Awaiting, e.ID)
		if s == nil || err != nil {
			return false, err
		}
		return true, tx.Log(s.resurfaced(c.Now))
	})
}

// resurfaced returns the line that says that a person is told once more of s.
func (s *Stored) resurfaced(now time.Time) audit.Line {
	change := s.Task.Change
	change.Told = now.UTC()
	return s.describe(audit.Line{
		Time: change.Told, Event: audit.Resurfaced, Task: s.Task.ID, From: s.Task.State,
		Digest: s.Task.Digest, Change: change,
	})
}

// stillPutOff tells of a task that was made limits.resurface ago or earlier, and that its
// worker puts off again and again. end is the line of its attempt. This needs no search:
// such a task is loaded each time that it is put off.
func (c *Claim) stillPutOff(tx *Tx, end *audit.Line, limits *policy.Limits) error {
	if end.Change.Reason != ReasonLater || end.Change.Attempts < 2 || !end.Change.Told.IsZero() {
		return nil
	}
	clock, err := ClockOf(tx, end.Time)
	if err != nil || clock.Now.Sub(clock.Of(c.Task.Created)) < limits.Resurface || tx.doubts(&clock) {
		return err
	}
	s := c.Stored
	s.Task.State, s.Task.Change = end.To, end.Change
	return tx.Log(s.resurfaced(clock.Now))
}
