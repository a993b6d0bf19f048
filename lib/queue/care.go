package queue

import (
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"pulse/lib/approval"
	"pulse/lib/task"
)

// ErrState is the error of what can't be done to a task in the state it is in.
var ErrState = errors.New("not in that state")

// Cancel ends a task that is scheduled or running, and returns it as it was. It
// need not be readable. Any other is ErrState.
func Cancel(tx Tx, id, by string, now time.Time) (Stored, error) {
	s, err := Find(tx, id)
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return s, err
	}
	if s.Task.State != task.Scheduled && s.Task.State != task.Running {
		return s, fmt.Errorf("%w: task %s is %s", ErrState, s.Task.ID, s.Task.State)
	}
	change := s.Task.Change
	change.Since, change.NotBefore, change.Reason = now.UTC(), time.Time{}, ReasonCancelled
	line := s.move(task.Cancelled, task.Rejected, change)
	line.By = by
	return s, tx.Move(line)
}

// Requeueable returns nil if a task can be put back to scheduled, or ErrState.
func Requeueable(s *Stored) error {
	if task.Legal(task.Requeued, s.Task.State, task.Scheduled) == nil {
		return nil
	}
	return fmt.Errorf("%w: task %s is %s", ErrState, s.Task.ID, s.Task.State)
}

// Requeue puts the task that was shown back to scheduled, as if it had never been
// started, with the approval of these bytes: a person's yes to doing it (again).
func Requeue(tx Tx, shown *Stored, yes approval.Approval, now time.Time) error {
	s, err := same(tx, shown)
	if err != nil {
		return err
	}
	line := s.move(task.Requeued, task.Scheduled, task.Change{Since: now.UTC(), Reason: ReasonRequeued})
	line.By, line.Level, line.Approval = yes.By, yes.Level, &yes
	return tx.Move(line)
}

// Yes makes a person's yes to the task that was shown. It is not signed yet.
func Yes(shown *Stored, by string, level approval.Level, now time.Time) approval.Approval {
	given := now.UTC().Truncate(time.Second) // what is signed is in whole ones
	return approval.Approval{
		Task: shown.Task.ID, Digest: shown.Task.Digest, Action: shown.Decision.Action, Target: shown.Target(),
		By: by, Level: level, Nonce: approval.Nonce(), Given: given, Expires: given.Add(approval.Lifetime),
	}
}

// Happened returns why what a person is about to requeue may have been done
// already, or the empty string.
func Happened(s *Stored) string {
	again := "look before you say yes"
	if s.Outward() {
		again = "it reaches the outside: " + again
	}
	switch {
	case s.Task.State == task.Completed:
		return "it was done before, and will be done again; " + again
	case s.Task.Attempts+s.Task.Restarts > 0:
		return "it was started before, and may have been done in part or whole; " + again
	case s.Task.Reason == ReasonCancelled:
		return "if it was running when it was cancelled, it may have been done in part or whole; " + again
	}
	return ""
}

// ID is the id of a task in 16 bytes, for lists of very many.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IDOf returns the id that text spells; of no id, zeros.
func IDOf(text string) (id ID) {
	hex.Decode(id[:], []byte(text))
	return id
}

// Listed are the tasks of a state.
type Listed struct {
	State task.State
	IDs   []ID // oldest first
}

// Prune removes those of the tasks in a state whose last transition lies limit or
// more before now, at most maxMoves of them, and returns the ids it did not come
// to. One that can't be read is left to verify. Ids must be in the order of Listed:
// what was made less than limit ago ends it. A limit of 0 is all of them, wherever the clock is.
func Prune(tx Tx, st task.State, ids []ID, limit time.Duration, by string, now time.Time) (pruned int, left []ID, err error) {
	for i, id := range ids[:min(len(ids), maxMoves)] {
		s, err := tx.Load(st, id.String())
		if errors.Is(err, ErrUnknown) || errors.Is(err, ErrCorrupt) {
			continue
		}
		if err != nil {
			return 0, ids[i:], err
		}
		if limit > 0 && now.Sub(s.Task.Created) < limit {
			return pruned, nil, nil
		}
		if limit > 0 && now.Sub(s.Task.Since) < limit {
			continue
		}
		line := s.move(task.Pruned, "", task.Change{Since: now.UTC()})
		line.By = by
		if err := tx.Move(line); err != nil {
			return 0, ids[i:], err
		}
		pruned++
	}
	return pruned, ids[min(len(ids), maxMoves):], nil
}
