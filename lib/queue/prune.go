package queue

import (
	"errors"
	"time"

	"pulse/lib/task"
)

// Prune removes those of the tasks in a state whose last transition lies limit or
// more before now, at most maxMoves of them, and returns the ids it did not come
// to. A file that can't be read is left to verify. Ids must be in the order of Listed:
// the first task made less than limit ago ends it. A limit of 0 removes all of them,
// whatever the clock says.
func Prune(tx *Tx, st task.State, ids []ID, limit time.Duration, by string, now time.Time) (pruned int, left []ID, err error) {
	for i, id := range ids[:min(len(ids), maxMoves)] {
		s, err := Load(tx, st, id.String())
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
