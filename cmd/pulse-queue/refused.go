package main

import (
	"errors"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// refusedIDs returns the ids of the refused records that are kept, oldest first. A snapshot has
// none of them: an empty list would say that nothing was refused.
func refusedIDs(s door.Store) (ids []store.ID, err error) {
	if s.Writable() != nil {
		return nil, fault.Usagef("name the queue it was made of", "a snapshot has no refused records")
	}
	err = s.View(func(v store.View) error {
		ids = ids[:0]
		return v.Each(store.Refused, func(id string, _ time.Time) (bool, error) {
			ids = append(ids, store.IDOf(id))
			return true, nil
		})
	})
	return ids, err
}

// loadRefused is load for a refused record. One that is gone was forgotten meanwhile.
func (f *filter) loadRefused(v store.View, id string) (s queue.Stored, meant bool, err error) {
	s, err = queue.RefusedOf(v, id)
	switch {
	case errors.Is(err, store.ErrCorrupt):
		return s, f.blind(task.Rejected), nil
	case errors.Is(err, store.ErrUnknown):
		return s, false, nil
	}
	return s, err == nil && f.meant(&s), err
}

// stateOf returns the state of a task, or that it is none.
func stateOf(t *task.Task) string {
	if t.Refused {
		return "refused"
	}
	return string(t.State)
}
