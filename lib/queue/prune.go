package queue

import (
	"errors"
	"time"

	"pulse/lib/shared/task"
)

// Prune removes tasks of a state whose last transition lies limit or more before now. It
// looks at no more than maxMoves of the ids, and returns those that it has not looked at.
// It leaves a file that can't be read to verify. A task whose draft nobody has touched is told
// of first, and is removed by a later command. The ids must be in the order of Listed,
// because the first task made less than limit ago ends the search. A limit of 0 removes
// all of them, whatever the clock says.
func Prune(
	tx *Tx, st task.State, ids []ID, limit time.Duration, by string, now time.Time,
) (pruned int, left []ID, err error) {
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
		told, err := tellDraft(tx, &s, now)
		if err != nil {
			return 0, ids[i:], err
		}
		if told || s.Task.Told.Equal(now) {
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
