package store_test

import (
	"slices"
	"testing"

	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// open is a store of two open tasks, which refuses every line about the first one.
type open struct{ store.Store }

type openView struct{ store.View }

func (openView) Open(_ task.State, fn func(store.Entry) (bool, error)) error {
	for _, id := range []string{"1", "2"} {
		if more, err := fn(store.Entry{ID: id}); !more || err != nil {
			return err
		}
	}
	return nil
}

func (v openView) Sift(st task.State, fn func(store.Entry) (bool, error)) error {
	return v.Open(st, fn)
}

func (open) Update(fn func(store.View) (*store.Commit, error)) error {
	c, err := fn(openView{})
	if err == nil && slices.ContainsFunc(c.Blobs, func(b store.Blob) bool { return b.Key == "1" }) {
		return &store.Forbidden{Task: "1", Why: "it is forbidden"}
	}
	return err
}

// TestPassing: a task of which the server refuses a line is passed over, however it is found.
func TestPassing(t *testing.T) {
	for name, find := range map[string]func(store.View, func(store.Entry) (bool, error)) error{
		"open": func(v store.View, fn func(store.Entry) (bool, error)) error { return v.Open(task.Scheduled, fn) },
		"sift": func(v store.View, fn func(store.Entry) (bool, error)) error { return v.Sift(task.Scheduled, fn) },
	} {
		var over, got []string
		p := store.Passing{Store: open{}, Over: func(id string, _ error) { over = append(over, id) }}
		for range 2 {
			got = nil
			if err := p.Update(func(v store.View) (*store.Commit, error) {
				got = nil
				c := &store.Commit{}
				return c, find(v, func(e store.Entry) (bool, error) {
					got = append(got, e.ID)
					c.Blobs = append(c.Blobs, store.Blob{Key: e.ID})
					return true, nil
				})
			}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !slices.Equal(over, []string{"1"}) || !slices.Equal(got, []string{"2"}) {
			t.Errorf("%s: over %q, got %q", name, over, got)
		}
	}
}
