package queue

import (
	"bytes"
	"errors"
	"time"

	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// draftOf reports whether the draft that s wrote still lies there, and returns its bytes if they
// are those that s would write again: no person has edited it.
func draftOf(v store.View, s *Stored) (lies bool, wrote []byte, err error) {
	if !s.own() || s.Request.Tool != proposal.Draft {
		return false, nil, nil
	}
	is, err := v.Get(store.Drafts, s.Task.ID)
	if errors.Is(err, store.ErrUnknown) {
		return false, nil, nil
	}
	if errors.Is(err, store.ErrCorrupt) {
		return true, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	if wrote, err = s.draft(); err != nil || !bytes.Equal(is.Bytes, wrote) {
		return true, nil, err
	}
	return true, wrote, nil
}

// DraftsOlder returns the tasks whose drafts were written limit or longer before now, oldest
// first. An edited draft is as old as its last edit.
func DraftsOlder(s store.Store, limit time.Duration, now time.Time) (ids []store.ID, err error) {
	err = s.View(func(v store.View) error {
		ids = ids[:0]
		c, err := ClockOf(v, now)
		if err != nil {
			return err
		}
		return v.Each(store.Drafts, func(id string, made time.Time) (bool, error) {
			old := c.Now.Sub(c.Of(made)) >= limit
			if old && task.ValidID(id) {
				ids = append(ids, store.IDOf(id))
			}
			return old, nil
		})
	})
	return ids, err
}

// ResurfaceDrafts tells once more of the tasks whose drafts nobody has touched. It looks at
// no more than maxMoves of the ids, and returns those that it has not looked at. While the clock is
// not believed, it tells of none.
func ResurfaceDrafts(tx *Tx, ids []store.ID, now time.Time) (left []store.ID, err error) {
	c, err := ClockOf(tx, now)
	if err != nil || len(ids) > 0 && tx.doubts(&c) {
		return nil, err
	}
	for _, id := range ids[:min(len(ids), maxMoves)] {
		s, err := readable(tx, task.Completed, id.String())
		if err == nil && s != nil {
			_, err = tellDraft(tx, s, now)
		}
		if err != nil {
			return ids, err
		}
	}
	return ids[min(len(ids), maxMoves):], nil
}

// tellDraft tells of a task if nobody has touched its draft, and it was not told of yet.
func tellDraft(tx *Tx, s *Stored, now time.Time) (told bool, err error) {
	if !s.Task.Told.IsZero() {
		return false, nil
	}
	if s.Task.State != task.Completed {
		return false, nil
	}
	_, wrote, err := draftOf(tx, s)
	if wrote == nil || err != nil {
		return false, err
	}
	return true, tx.Log(s.resurfaced(now))
}
