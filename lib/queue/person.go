package queue

import (
	"fmt"
	"strings"
	"time"

	"pulse/lib/approval"
	"pulse/lib/task"
)

// Find loads the task of a whole id. One that has no file, for it was pruned or never
// was, is ErrUnknown.
func Find(v View, id string) (Stored, error) {
	st, err := v.State(id)
	if err == nil && st == "" {
		err = fmt.Errorf("%w: %s", ErrUnknown, id)
	}
	if err != nil {
		return Stored{}, err
	}
	return v.Load(st, id)
}

// LeastPrefix is how many digits of an id are enough.
const LeastPrefix = 4

// Whole returns the id that begins with prefix, four digits or more, if that is unique
// among the open tasks or, where it is none of them, among all, the pruned ones
// too. The latter reads the names of all tasks there are. A whole id is returned as
// it is, whether anybody knows it or not.
func Whole(s Store, prefix string) (id string, err error) {
	switch {
	case task.ValidID(prefix):
		return prefix, nil
	case strings.Trim(prefix, "0123456789abcdef") != "":
		return "", fmt.Errorf("%w: %s is no id", ErrUnknown, prefix)
	case len(prefix) < LeastPrefix:
		return "", fmt.Errorf("%w: %s is too short, want %d digits of an id or more", ErrUnknown, prefix, LeastPrefix)
	}
	ids, err := s.Match(prefix)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", fmt.Errorf("%w: %s", ErrUnknown, prefix)
	case len(ids) > 1:
		return "", fmt.Errorf("%s is the beginning of more than one id, such as %s and %s", prefix, ids[0], ids[1])
	}
	return ids[0], nil
}

// same loads a task again and makes sure that it still is what was shown.
func same(tx Tx, shown *Stored) (Stored, error) {
	now, err := tx.State(shown.Task.ID)
	if err != nil {
		return Stored{}, err
	}
	if now != shown.Task.State {
		return Stored{}, fmt.Errorf("%w: the task is %s now", ErrConflict, now)
	}
	s, err := tx.Load(now, shown.Task.ID)
	// It may have been answered and started, and wait again: that is another question.
	if err == nil && (s.Task.Digest != shown.Task.Digest || !s.Task.Since.Equal(shown.Task.Since)) {
		err = fmt.Errorf("%w: the task is not what was shown any more", ErrConflict)
	}
	return s, err
}

// Approve records a person's yes to the task that was shown.
func Approve(tx Tx, shown *Stored, yes approval.Approval, now time.Time) error {
	s, err := same(tx, shown)
	if err != nil {
		return err
	}
	change := s.Task.Change // what a person put off stays so
	change.Since, change.Reason = now.UTC(), ReasonApproved
	line := s.move(task.Approved, task.Scheduled, change)
	line.By, line.Level, line.Approval = yes.By, yes.Level, &yes
	return tx.Move(line)
}

// Deny records a person's no to the task that was shown.
func Deny(tx Tx, shown *Stored, by string, level approval.Level, reason string, now time.Time) error {
	s, err := same(tx, shown)
	if err != nil {
		return err
	}
	change := s.Task.Change
	change.Since, change.NotBefore, change.Reason = now.UTC(), time.Time{}, reason
	line := s.move(task.Denied, task.Rejected, change)
	line.By, line.Level = by, level
	return tx.Move(line)
}
