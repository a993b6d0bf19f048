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
