package report

import (
	"slices"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// again is a store to which something is committed while it is read: fn runs twice. It
// holds a start of each kind, a task that waits, and two outboxes.
type again struct{ store.Store }

func (s again) View(fn func(store.View) error) error {
	_ = fn(view{})
	return fn(view{})
}

type view struct{ store.View }

func (view) Back(func(audit.Line) bool, ...task.Event) error { return nil }

func (view) Clock() (now, last time.Time, err error) { return now, last, nil }

func (view) Counts() store.Counts {
	return store.Counts{Tasks: map[task.State]int{task.Scheduled: 1}}
}

func (view) Get(store.Shelf, string) (store.Item, error) { return store.Item{}, store.ErrUnknown }

func (view) Open(_ task.State, fn func(store.Entry) (bool, error)) error {
	_, err := fn(store.Entry{State: task.Scheduled})
	return err
}

func (view) Starts(now time.Time, fn func(store.Start)) error {
	fn(store.Start{Time: now, Kind: task.Ask, External: true})
	fn(store.Start{Time: now, Kind: task.Effect})
	return nil
}

func (view) Each(_ store.Shelf, fn func(string, time.Time) (bool, error)) error {
	for _, parent := range []string{"a", "b"} {
		if _, err := fn(parent, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// TestReadAgain: what is read again beside a writer is counted once, and printed once.
func TestReadAgain(t *testing.T) {
	f := Figures{now: time.Now()}
	if err := (again{}).View(f.count); err != nil || f.asks != 1 || f.external != 1 || f.effects != 1 || f.counts[task.Scheduled] != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if list, err := store.Read(again{}, queue.Proposers); err != nil || !slices.Equal(list, []string{"a", "b"}) {
		t.Errorf("%q, %v", list, err)
	}
}
