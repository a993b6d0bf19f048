package spool

import (
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/record"
)

// TestOutboxLives: what was proposed is there until it has a receipt, and what was
// not taken yet survives that its task proposes again.
func TestOutboxLives(t *testing.T) {
	w := newWorld(t, true, false)
	s, now := spoolOn(w.disk()), epoch
	do := func(op operation) {
		t.Helper()
		now = now.Add(time.Hour)
		if err := op.Do(s, now); err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
		if err := sound(s); err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
	}
	ids := func() (list []string) {
		t.Helper()
		err := s.View(func(v store.View) error {
			return outboxes(v, func(parent string) error {
				file, err := queue.OutboxOf(v, parent)
				store.EachProposed(file, func(id string, line []byte) error {
					if _, err := record.Parse(line); err != nil {
						t.Errorf("%s: %v", line, err)
					}
					list = append(list, id)
					return nil
				})
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	do(add(mails(1, 1)...))
	do(start(""))
	do(propose(1))
	first := ids()
	if len(first) != 5 { // a send and its draft, two equal reads, a note
		t.Fatalf("%v", first)
	}
	var line string
	s.View(func(v store.View) error {
		return outboxes(v, func(parent string) error {
			file, err := queue.OutboxOf(v, parent)
			line, _, _ = strings.Cut(string(file), "\n")
			return err
		})
	})
	do(add(decided(line + "\n")))
	if left := ids(); len(left) != 4 || left[0] != first[1] {
		t.Errorf("%v, after %s was taken", left, first[0])
	}
	do(take)
	if left := ids(); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	do(take)
}

// TestOutboxThatIsBroken: such an outbox stops no command, and verify reports it.
func TestOutboxThatIsBroken(t *testing.T) {
	w := newWorld(t, true, false)
	s := spoolOn(w.disk())
	for i, op := range []operation{add(mails(1, 1)...), start(""), propose(1)} {
		if err := op.Do(s, epoch.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	parent := ""
	s.View(func(v store.View) error {
		return outboxes(v, func(id string) error { parent = id; return nil })
	})
	if err := w.disk().Write(fileOf(store.Outbox, parent), []byte("garbage\n"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := sound(s); err == nil {
		t.Error("verify finds nothing")
	}
	known := strings.Replace(effect(1), "0123456789abcdef0123456789abcdef", parent, 1)
	for range 2 { // the second time it is known, and wants to be settled
		if err := add(known).Do(s, epoch.Add(24*time.Hour)); err != nil {
			t.Error(err)
		}
	}
}

// outboxes calls fn for the tasks that have an outbox.
func outboxes(v store.View, fn func(parent string) error) error {
	list, err := queue.Proposers(v)
	for _, parent := range list {
		if err == nil {
			err = fn(parent)
		}
	}
	return err
}
