package queue_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// TestFair: no batch delays another sender's first task by more than one start a sender.
func TestFair(t *testing.T) {
	if err := queuetest.Burst(queuetest.NewMemory(), now); err != nil {
		t.Error(err)
	}
	seeds := uint64(300)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		if err := queuetest.Turns(queuetest.NewMemory(), seed, now); err != nil {
			t.Error(err)
		}
	}
}

// TestTurnOfOneAdded: a task that is added between two tries of an Update has its turn at once.
func TestTurnOfOneAdded(t *testing.T) {
	d := newDesk(t)
	d.p.Owners = append(d.p.Owners, "you@example.com")
	for n := range 4 {
		d.add(fmt.Sprintf(ask, n))
	}
	run := queue.Run{Policy: d.p, Max: 10, Now: func() time.Time { return d.now }}
	var claim *queue.Claim
	next := func(tx *queue.Tx) (err error) {
		claim, _, err = run.Next(tx, func(string) error { return nil })
		return err
	}
	d.update(next)
	again := errors.New("the store changed meanwhile")
	if err := queue.Update(d.store, func(tx *queue.Tx) error { return cmp.Or(next(tx), again) }); !errors.Is(err, again) {
		t.Fatal(err)
	}
	id, _ := d.add(strings.ReplaceAll(fmt.Sprintf(ask, 5), "me@", "you@"))
	if d.update(next); claim == nil || claim.Task.ID != id {
		t.Errorf("started: %t, want %s", claim != nil, id)
	}
}

// TestTurnsOfOthers: what others have started is not read once more: on a server all wait meanwhile.
func TestTurnsOfOthers(t *testing.T) {
	d := newDesk(t)
	d.p.Limits.PerSenderPerHour = 20
	for n := range 20 {
		d.add(fmt.Sprintf(ask, n))
	}
	start := func(run *queue.Run) (reads int) {
		t.Helper()
		var claim *queue.Claim
		d.update(func(tx *queue.Tx) (err error) {
			tx.View = counting{tx.View, &reads}
			claim, _, err = run.Next(tx, func(string) error { return nil })
			return err
		})
		if claim == nil {
			t.Fatal("nothing to start")
		}
		return reads
	}
	one := queue.Run{Policy: d.p, Max: 20, Now: func() time.Time { return d.now }}
	other := one
	start(&one)
	want := start(&one)
	for range 5 {
		start(&other)
	}
	if got := start(&one); got != want {
		t.Errorf("%d reads, %d without others", got, want)
	}
}

// half is a view that fails behind the first task.
type half struct{ store.View }

func (v half) Sift(st task.State, fn func(store.Entry) (bool, error)) error {
	err := v.View.Open(st, func(e store.Entry) (bool, error) {
		_, err := fn(e)
		return false, err
	})
	return cmp.Or(err, errBroken)
}

// TestTurnsHalfRead: turns that could be read in part only are read again.
func TestTurnsHalfRead(t *testing.T) {
	d := newDesk(t)
	d.p.Owners = append(d.p.Owners, "you@example.com")
	d.add(fmt.Sprintf(ask, 0))
	d.work("")
	d.add(fmt.Sprintf(ask, 1))
	id, _ := d.add(strings.ReplaceAll(fmt.Sprintf(ask, 2), "me@", "you@"))
	run := queue.Run{Policy: d.p, Max: 10, Now: func() time.Time { return d.now }}
	var claim *queue.Claim
	next := func(tx *queue.Tx) (err error) {
		claim, _, err = run.Next(tx, func(string) error { return nil })
		return err
	}
	if err := queue.Update(d.store, func(tx *queue.Tx) error { tx.View = half{tx.View}; return next(tx) }); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if d.update(next); claim == nil || claim.Task.ID != id {
		t.Errorf("started: %t, want %s", claim != nil, id)
	}
}
