package queue

import (
	"errors"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// Untaken is what workers proposed and add has not taken.
type Untaken struct {
	All    int       // proposals
	Since  time.Time // when the worker of the oldest one ended, by the log
	Parent string    // the task of that one
}

// UntakenOf counts what lies in the outboxes. An outbox that can't be read counts as one. Taking
// one proposal rewrites the file of the others, so their age is that of their task's last
// transition; that of a pruned task is the file's.
func UntakenOf(v store.View) (u Untaken, err error) {
	err = v.Each(store.Outbox, func(parent string, made time.Time) (bool, error) {
		if !task.ValidID(parent) {
			return true, nil // verify says so
		}
		file, err := OutboxOf(v, parent)
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			return false, err
		}
		s, err := anywhere(v, parent)
		if err != nil {
			return false, err
		}
		if s != nil && s.Task.Since.Before(made) {
			made = s.Task.Since
		}
		if u.Parent == "" || made.Before(u.Since) {
			u.Since, u.Parent = made, parent
		}
		list, _ := store.ReadOutbox(file)
		u.All += max(1, len(list))
		return true, nil
	})
	return u, err
}

// settle logs that a proposal whose task is known already was taken, if its outbox still
// has it. Otherwise the proposal would come again for ever.
func (in *intake) settle(it *item) error {
	once := it.Identity.Parent + " " + it.id // another task may have proposed the same
	if !it.Identity.Effect() || in.settled[once] {
		return nil
	}
	file, err := OutboxOf(in.tx, it.Identity.Parent)
	if err != nil {
		return err
	}
	if _, had, err := store.Without(file, it.id); err != nil || !had {
		return nil // what can't be read is left to verify
	}
	in.settled[once] = true
	return in.tx.Log(audit.Line{
		Time: in.now, Event: audit.Settled, Task: it.id, Kind: task.Effect, Parent: it.Identity.Parent,
	})
}
