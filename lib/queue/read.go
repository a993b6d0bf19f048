package queue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Load reads a task. If its file can't be what it should be, Load returns ErrCorrupt and
// the little that is known.
func Load(v store.View, st task.State, id string) (Stored, error) {
	stored, err := LoadUnlabelled(v, st, id)
	if err == nil {
		stored.Labels, err = LabelsOf(v, stored.Root(), stored.Identity.Trust)
		stored.Labels = stored.Labels.Union(stored.Identity.Labels)
	}
	return stored, err
}

// LoadUnlabelled is Load without Labels, which lie in a file of their own.
func LoadUnlabelled(v store.View, st task.State, id string) (Stored, error) {
	stored := Stored{Task: task.Task{ID: id, State: st}}
	file, err := v.Get(store.On(st), id)
	if err == nil {
		err = stored.Parse(file.Bytes)
	}
	if err != nil {
		return stored, err
	}
	_, found, err := get(v, store.Meta, id, func(val record.Value) (err error) {
		stored.Task.Change, err = task.DecodeChange(val)
		return err
	})
	if err == nil && !found { // nothing has happened to it since it was added
		stored.Task.Change = stored.First()
	}
	if err == nil && st == task.Awaiting {
		stored.Task.Partly, err = partly(v, id)
	}
	return stored, err
}

// partly returns who gave the first of two yeses, as it says itself.
func partly(v store.View, id string) (string, error) {
	first, err := FirstOf(v, id)
	switch {
	case errors.Is(err, store.ErrCorrupt):
		return "", nil
	case err != nil || first == nil:
		return "", err
	}
	return cmp.Or(first.Signer, first.By), nil
}

// LabelsOf returns the labels of a root task of a trust level, which may have been pruned. If
// what is kept of them can't be read, it returns all, because nobody knows which it had.
func LabelsOf(v store.View, root string, t terms.Trust) (label.Set, error) {
	var kept label.Set
	_, _, err := get(v, store.Labels, root, func(val record.Value) (err error) {
		kept, err = store.DecodeLabels(val)
		return err
	})
	if errors.Is(err, store.ErrCorrupt) {
		kept, err = nil, nil
		for _, l := range label.All {
			kept, _ = kept.With(label.Use{Label: l, By: Unreadable})
		}
	}
	return label.Of(t).Union(kept), err
}

// get decodes an object on a shelf. If there is none, found is false and the error nil. If
// it can't be what it should be, the error is ErrCorrupt.
func get(v store.View, s store.Shelf, key string, decode func(record.Value) error) (writer approval.Holder, found bool, err error) {
	item, err := v.Get(s, key)
	if errors.Is(err, store.ErrUnknown) {
		return "", false, nil
	}
	if err != nil {
		return "", errors.Is(err, store.ErrCorrupt), err
	}
	rec, err := record.Parse(item.Bytes)
	if err == nil {
		err = decode(rec.Value())
	}
	if err != nil {
		err = fmt.Errorf("%w: %s/%s: %w", store.ErrCorrupt, s, key, err)
	}
	return item.Writer, true, err
}

// ApprovalOf returns a task's approval, or nil. If it can't be read, or is for another
// task, the error is ErrCorrupt.
func ApprovalOf(v store.View, id string) (*approval.Approval, error) {
	return yesOf(v, store.Approvals, id)
}

// FirstOf is ApprovalOf for the first of two yeses.
func FirstOf(v store.View, id string) (*approval.Approval, error) { return yesOf(v, store.Partly, id) }

func yesOf(v store.View, s store.Shelf, id string) (*approval.Approval, error) {
	var a approval.Approval
	writer, found, err := get(v, s, id, func(val record.Value) (err error) {
		if a, err = approval.Decode(val); err == nil && a.Task != id {
			err = fmt.Errorf("it is for task %s", a.Task)
		}
		return err
	})
	if !found || err != nil {
		return nil, err
	}
	a.Holder = writer
	return &a, nil
}

// all decodes the objects on a shelf. An object that can't be read is no use to anything,
// and is left out.
func all[T any](
	v store.View, s store.Shelf, decode func(record.Value) (T, error), add func(key string, writer approval.Holder, one T),
) error {
	return v.Each(s, func(key string, _ time.Time) (bool, error) {
		var one T
		writer, found, err := get(v, s, key, func(val record.Value) (err error) {
			one, err = decode(val)
			return err
		})
		if errors.Is(err, store.ErrCorrupt) {
			return true, nil
		}
		if found && err == nil {
			add(key, writer, one)
		}
		return true, err
	})
}

// GrantsOf returns all grants, in the order in which they were given.
func GrantsOf(v store.View) (grants []approval.Grant, err error) {
	err = all(v, store.Grants, approval.DecodeGrant, func(key string, writer approval.Holder, g approval.Grant) {
		if g.Holder = writer; g.ID == key {
			grants = append(grants, g)
		}
	})
	slices.SortFunc(grants, func(a, b approval.Grant) int { return a.Given.Compare(b.Given) })
	return grants, err
}

// SessionsOf returns the sessions that were not ended, in the order in which they were
// opened.
func SessionsOf(v store.View) (sessions []approval.Session, err error) {
	err = all(v, store.Sessions, approval.DecodeSession, func(key string, _ approval.Holder, s approval.Session) {
		if s.ID == key {
			sessions = append(sessions, s)
		}
	})
	slices.SortFunc(sessions, func(a, b approval.Session) int {
		return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.ID, b.ID))
	})
	return sessions, err
}

// Holding returns the line of the hold that stops every run, or nil. A hold file that
// can't be read, because it was made by hand, holds the queue all the same.
func Holding(v store.View) (*audit.Line, error) {
	item, err := v.Get(store.Hold, "")
	switch {
	case errors.Is(err, store.ErrUnknown):
		return nil, nil
	case err != nil && !errors.Is(err, store.ErrCorrupt):
		return nil, err
	}
	l, err := audit.Parse(item.Bytes)
	if err != nil {
		l = audit.Line{}
	}
	return &l, nil
}

// ResultOf returns what a task's worker printed, or nil if it printed nothing.
func ResultOf(v store.View, id string) ([]byte, error) {
	item, err := v.Get(store.Results, id)
	if errors.Is(err, store.ErrUnknown) {
		return nil, nil
	}
	return item.Bytes, err
}

// OutboxOf returns what a task's worker proposed and was not added yet, or nil if that
// can't be read.
func OutboxOf(v store.View, parent string) ([]byte, error) {
	item, err := v.Get(store.Outbox, parent)
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCorrupt) {
		return nil, nil
	}
	return item.Bytes, err
}

// PrunedOf returns the last state of a task that was pruned, "" if it never was.
func PrunedOf(v store.View, id string) (last task.State, err error) {
	item, err := v.Get(store.Pruned, id)
	if errors.Is(err, store.ErrUnknown) {
		err = nil
	}
	return task.State(item.Bytes), err
}

// PositionOf returns how far a source was read.
func PositionOf(v store.View, source string) (p store.Position, known bool, err error) {
	_, known, err = get(v, store.Positions, store.PositionKey(source), func(val record.Value) (err error) {
		if p, err = audit.DecodePosition(val); err == nil && p.Source != source {
			err = errors.New("it is for another source")
		}
		return err
	})
	return p, known, err
}

// PositionsOf returns how far each source was read, the one that was read longest ago first.
func PositionsOf(v store.View) (list []store.Position, err error) {
	err = all(v, store.Positions, audit.DecodePosition, func(key string, _ approval.Holder, p store.Position) {
		if key == store.PositionKey(p.Source) {
			list = append(list, p)
		}
	})
	return list, err
}

// LastRead returns when the position of any source moved last; zero if none ever did.
func LastRead(v store.View) (last time.Time, err error) {
	err = v.Each(store.Positions, func(_ string, made time.Time) (bool, error) {
		last = made // oldest first
		return true, nil
	})
	return last, err
}

// Proposers returns the tasks that have an outbox, the oldest outbox first.
func Proposers(v store.View) ([]string, error) { return keysOn(v, store.Outbox) }

// keysOn returns the keys of the things on a shelf, oldest first.
func keysOn(v store.View, s store.Shelf) (keys []string, err error) {
	err = v.Each(s, func(key string, _ time.Time) (bool, error) {
		keys = append(keys, key)
		return true, nil
	})
	return keys, err
}

// logged returns the state of an open task by the log, "" for any other task.
func logged(v store.View, id string) (st task.State, err error) {
	err = v.Open("", func(e store.Entry) (bool, error) {
		if e.ID == id {
			st = e.State
		}
		return st == "", nil
	})
	return st, err
}
