package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

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
