package main

import (
	"fmt"
	"slices"
)

// approvedEffect adds an effect and approves it.
func approvedEffect(d *desk, b *books) error {
	list, err := d.add(b, effect(1))
	if err != nil {
		return err
	}
	return d.yes(b, list[0].ID)
}

// answering is a person's answer to one effect. An approved effect is then started, and
// any other must never be.
func answering(name, end string, argv ...string) *scenario {
	s := &scenario{name: name, person: true}
	id := ""
	s.prepare = func(d *desk, b *books) error {
		list, err := d.add(b, effect(1))
		if err == nil {
			id = list[0].ID
		}
		return err
	}
	s.argv = func(*desk) []string { return slices.Concat(argv[:2], []string{id}, argv[2:]) }
	s.next = func(d *desk, b *books) error {
		var f findings
		if st := d.files(&f)[id].state; st == "scheduled" {
			if b.yes[id]++; end != "scheduled" {
				return fmt.Errorf("approved: %s, and nobody said yes", id)
			}
			b.yes[id] = 1
			if !d.approved(id) {
				return fmt.Errorf("approval: %s is scheduled without one", id)
			}
		} else if b.yes[id] == 0 && d.approved(id) {
			return fmt.Errorf("approval: %s is %s and has one", id, st)
		}
		return d.do(running(d.worker(0), sends...)...)
	}
	s.whole = func(was, is map[string]laid) string { return moved(was, is, map[string][]string{id: {end}}) }
	s.late = func(listed map[string]shownTask) string {
		if end == "scheduled" {
			return only(listed, "awaiting_review", "completed")
		}
		return only(listed, "awaiting_review", end)
	}
	return s
}

// cancelling is pulse-queue cancel of a scheduled ask. A cancelled ask is never started.
func cancelling() *scenario {
	s := asking("cancel", 0, "completed")
	prepare, id := s.prepare, ""
	s.prepare = func(d *desk, b *books) error {
		err := prepare(d, b)
		if err == nil {
			id = ids(b.acked)[0]
		}
		return err
	}
	s.argv = func(*desk) []string { return []string{"pulse-queue", "cancel", id} }
	s.person = true
	s.whole = func(was, is map[string]laid) string { return moved(was, is, map[string][]string{id: {"rejected"}}) }
	s.late = func(listed map[string]shownTask) string { return only(listed, "rejected", "completed") }
	return s
}

// requeueing is pulse-queue requeue, at a terminal, of an ask that was cancelled.
func requeueing() *scenario {
	s := cancelling()
	s.name = "requeue"
	prepare, id := s.prepare, ""
	s.prepare = func(d *desk, b *books) error {
		if err := prepare(d, b); err != nil {
			return err
		}
		id = ids(b.acked)[0]
		return d.do("cancel", id)
	}
	s.argv = func(*desk) []string { return []string{"pulse-queue", "requeue", id} }
	s.whole = func(was, is map[string]laid) string { return moved(was, is, map[string][]string{id: {"scheduled"}}) }
	return s
}
