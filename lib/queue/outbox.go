package queue

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// An outbox is a file of what one task's worker proposed and add has not taken yet, one
// record a line. Each line begins with `{"task":{"id":"` and the id of the effect.

// ErrOutbox means that an outbox is not what a run wrote.
var ErrOutbox = errors.New("the outbox can't be read")

const outboxHead = `{"task":{"id":"`

// EachProposed calls fn for the lines of an outbox, without their newlines.
func EachProposed(file []byte, fn func(id string, line []byte) error) error {
	for len(file) > 0 {
		line, rest, whole := bytes.Cut(file, []byte("\n"))
		file = rest
		after, ok := bytes.CutPrefix(line, []byte(outboxHead))
		id := string(after[:min(len(after), 32)])
		if !whole || !ok || !task.ValidID(id) {
			return fmt.Errorf("%w: %.40q", ErrOutbox, line)
		}
		if err := fn(id, line); err != nil {
			return err
		}
	}
	return nil
}

// ReadOutbox returns the id and the digest of each line of an outbox.
func ReadOutbox(file []byte) (list []audit.Proposed, err error) {
	err = EachProposed(file, func(id string, line []byte) error {
		list = append(list, audit.Proposed{ID: id, Digest: audit.Hash(line)})
		return nil
	})
	return list, err
}

// Without returns an outbox without the lines of some effects, and whether it had any.
func Without(file []byte, ids ...string) (rest []byte, had bool, err error) {
	err = EachProposed(file, func(id string, line []byte) error {
		if slices.Contains(ids, id) {
			had = true
			return nil
		}
		rest = append(append(rest, line...), '\n')
		return nil
	})
	return rest, had, err
}

// Untaken is what workers proposed and add has not taken.
type Untaken struct {
	All    int       // proposals
	Since  time.Time // when the worker of the oldest one ended, by the log
	Parent string    // the task of that one
}

// UntakenOf counts what lies in the outboxes. An outbox that can't be read counts as one. Taking
// one proposal rewrites the file of the others, so their age is that of their task's last
// transition; that of a pruned task is the file's.
func UntakenOf(v View) (u Untaken, err error) {
	err = v.Each(Outbox, func(parent string, made time.Time) (bool, error) {
		if !task.ValidID(parent) {
			return true, nil // verify says so
		}
		file, err := OutboxOf(v, parent)
		if err != nil && !errors.Is(err, ErrCorrupt) {
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
		list, _ := ReadOutbox(file)
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
	if _, had, err := Without(file, it.id); err != nil || !had {
		return nil // what can't be read is left to verify
	}
	in.settled[once] = true
	return in.tx.Log(audit.Line{
		Time: in.now, Event: audit.Settled, Task: it.id, Kind: task.Effect, Parent: it.Identity.Parent,
	})
}
