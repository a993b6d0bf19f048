package queue

import (
	"errors"
	"fmt"
	"time"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/task"
)

// ErrNoGrant is the error of a target nobody granted.
var ErrNoGrant = errors.New("no grant")

// Find loads a task by its id or by the beginning of it, if that is unique among
// the tasks that are open.
func Find(v View, id string) (Stored, error) {
	st, err := v.State(id)
	if err != nil {
		return Stored{}, err
	}
	if st == "" {
		if id, st, err = byPrefix(v, id); err != nil {
			return Stored{}, err
		}
	}
	return v.Load(st, id)
}

func byPrefix(v View, prefix string) (id string, in task.State, err error) {
	for _, st := range task.States {
		if len(prefix) < 4 || !st.Open() {
			continue
		}
		err = v.Scan(st, func(candidate string) (bool, error) {
			if candidate[:min(len(prefix), len(candidate))] != prefix {
				return true, nil
			}
			if id != "" {
				return false, fmt.Errorf("%s is the beginning of more than one id", prefix)
			}
			id, in = candidate, st
			return true, nil
		})
		if err != nil {
			return "", "", err
		}
	}
	if id == "" {
		return "", "", fmt.Errorf("%w: %s", ErrUnknown, prefix)
	}
	return id, in, nil
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
	if err == nil && s.Task.Digest != shown.Task.Digest {
		err = fmt.Errorf("%w: the task is not what was shown any more", ErrConflict)
	}
	return s, err
}

// Approve records a person's yes to the task that was shown.
func Approve(tx Tx, shown *Stored, by string, level approval.Level, now time.Time) error {
	s, err := same(tx, shown)
	if err != nil {
		return err
	}
	change := task.Change{Since: now.UTC(), Attempts: s.Task.Attempts, Restarts: s.Task.Restarts, Reason: ReasonApproved}
	line := s.move(task.Approved, task.Scheduled, change)
	line.By, line.Level = by, level
	line.Approval = &approval.Approval{
		Task: s.Task.ID, Digest: s.Task.Digest, Action: s.Decision.Action, Target: s.Target(),
		By: by, Level: level, Nonce: approval.Nonce(), Given: now.UTC(), Expires: now.UTC().Add(approval.Lifetime),
	}
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

// Grant records a person's yes given ahead.
func Grant(tx Tx, g approval.Grant) error {
	return tx.Log(audit.Line{Time: g.Given, Event: audit.Granted, By: g.By, Level: g.Level, Grant: &g})
}

// Revoke takes a grant back.
func Revoke(tx Tx, id, by string, level approval.Level, now time.Time) error {
	grants, err := tx.Grants()
	if err != nil {
		return err
	}
	for _, g := range grants {
		if g.ID == id {
			return tx.Log(audit.Line{Time: now.UTC(), Event: audit.Revoked, By: by, Level: level, Grant: &g})
		}
	}
	return fmt.Errorf("%w %s", ErrNoGrant, id)
}

// Consume spends the grant that fits a target and a task best, once.
func Consume(tx Tx, target, taskID string, now time.Time) (approval.Grant, error) {
	grants, err := tx.Grants()
	if err != nil {
		return approval.Grant{}, err
	}
	g, ok := approval.Match(grants, target, taskID, now)
	if !ok {
		return g, fmt.Errorf("%w for this target", ErrNoGrant)
	}
	return g, tx.Log(audit.Line{Time: now.UTC(), Event: audit.Consumed, Grant: &g})
}
