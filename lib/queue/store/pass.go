package store

import (
	"errors"

	"pulse/lib/shared/task"
)

// Forbidden means that a server refused a line about a task.
type Forbidden struct {
	Task string // its id; empty: no task, or it is not known
	Why  string
}

func (r *Forbidden) Error() string { return "the server refused this change: " + r.Why }

// Passing is a store for those who look for something to do: it passes over a task of which the
// server refuses a line, so that one task does not keep them from all others. An Update in which
// that happens runs again.
type Passing struct {
	Store
	Over func(task string, err error) // is told of each, once

	over map[string]bool
}

// Update is that of the store.
func (p *Passing) Update(fn func(View) (*Commit, error)) error {
	for {
		err := p.Store.Update(func(v View) (*Commit, error) { return fn(&lacking{v, p.over}) })
		var r *Forbidden
		if !errors.As(err, &r) || r.Task == "" || p.over[r.Task] {
			return err
		}
		if p.over == nil {
			p.over = map[string]bool{}
		}
		p.over[r.Task] = true
		p.Over(r.Task, err)
	}
}

// lacking is a view in which some tasks are not open.
type lacking struct {
	View
	over map[string]bool
}

func (v *lacking) Open(st task.State, fn func(Entry) (more bool, err error)) error {
	return v.View.Open(st, func(e Entry) (bool, error) {
		if v.over[e.ID] {
			return true, nil
		}
		return fn(e)
	})
}

func (v *lacking) Sift(st task.State, fn func(Entry) (rest bool, err error)) error {
	return v.View.Sift(st, func(e Entry) (bool, error) {
		if v.over[e.ID] {
			return true, nil
		}
		return fn(e)
	})
}
