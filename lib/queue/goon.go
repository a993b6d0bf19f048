package queue

import (
	"errors"
	"fmt"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
)

// The reasons of an ask that can go on, and of one that does.
const (
	ReasonPaused    = "awaits_effects" // its client kept its session, and what it proposed has not ended
	ReasonContinued = "effects_ended"
	ReasonRevised   = "revised" // a person wants it done otherwise
)

// An ask is started again by one event, continued: once what it proposed has ended, or because a
// person refused some of that with words. It stays the same root, with its labels and what is left
// of its budget, and its worker is told how its effects ended.

// pauses reports whether an ask that has ended well is to go on once what it proposed has ended.
func (c *Claim) pauses(end *End, limits *policy.Limits) bool {
	return end.Kept && c.Kind() == task.Ask && c.Schema == nil && c.Task.Continues < limits.MaxContinues &&
		end.Proposals != nil && len(end.Proposals.List) > 0
}

// goOn starts the asks again whose last effect ends by what is staged.
func (t *Tx) goOn() error {
	done := map[string]bool{}
	for i := range t.commit.Lines {
		l := t.commit.Lines[i] // more lines may come
		if l.Kind != task.Effect || !l.Moves() || l.To.Open() || l.To == "" {
			continue
		}
		s, err := anywhere(t.View, l.Task)
		if s == nil || err != nil || done[s.Identity.Root] {
			if err != nil {
				return err
			}
			continue
		}
		done[s.Identity.Root] = true
		if err := t.goesOn(s.Identity.Root, l.Time); err != nil {
			return err
		}
	}
	return nil
}

// goesOn starts an ask again if it waits for its effects, and none is left.
func (t *Tx) goesOn(root string, now time.Time) error {
	st, err := t.Where(root)
	if err != nil || st != task.Completed {
		return err
	}
	s, err := Load(t, st, root)
	if err != nil {
		return ignore(err)
	}
	if s.Kind() != task.Ask || s.Task.Reason != ReasonPaused {
		return nil
	}
	if waits, err := t.waits(root); waits || err != nil {
		return err
	}
	return t.Move(s.again(ReasonContinued, now))
}

// again returns the line by which an ask is started again.
func (s *Stored) again(why string, now time.Time) audit.Line {
	change := task.Change{Since: now.UTC(), Reason: why, Continues: s.Task.Continues, Revisions: s.Task.Revisions}
	if why == ReasonRevised {
		change.Revisions++
	} else {
		change.Continues++
	}
	return s.move(task.Continued, task.Scheduled, change)
}

// waits reports whether an effect of a root has not ended, or has not been taken yet.
func (t *Tx) waits(root string) (waits bool, err error) {
	if left, err := OutboxOf(t, root); len(left) > 0 || err != nil {
		return true, err
	}
	for _, st := range []task.State{task.Running, task.Scheduled, task.Awaiting} {
		err = t.Open(st, func(e Entry) (more bool, err error) {
			if e.Kind != task.Effect {
				return true, nil
			}
			if now, err := t.Where(e.ID); err != nil || !now.Open() {
				return true, err
			}
			s, err := Load(t, st, e.ID)
			if err != nil {
				return true, ignore(err)
			}
			waits = waits || s.Identity.Root == root
			return !waits, nil
		})
		if waits || err != nil {
			return waits, err
		}
	}
	return false, nil
}

// ErrRevised means that an ask can't be started again: it is not done, or was revised too often.
var ErrRevised = errors.New("its ask is not started again")

// Revise records a person's no to the effect that was shown, with words that its agent is told, and
// starts the ask again that it belongs to.
func Revise(tx *Tx, shown *Stored, by string, level approval.Level, words string, limits *policy.Limits, now time.Time) error {
	if err := Deny(tx, shown, by, level, words, now); err != nil {
		return err
	}
	root, err := anywhere(tx, shown.Identity.Root)
	switch {
	case err != nil:
		return err
	case root == nil || root.Kind() != task.Ask || root.Task.State != task.Completed:
		return fmt.Errorf("%w: it is not completed", ErrRevised)
	case root.Task.Revisions >= limits.MaxRevisions:
		return fmt.Errorf("%w: limits.max_revisions is %d", ErrRevised, limits.MaxRevisions)
	}
	line := root.again(ReasonRevised, now)
	line.By, line.Level = by, level
	return tx.Move(line)
}
