package main

import (
	"fmt"
)

// approvedEffect adds an effect and approves it.
func approvedEffect(d *desk, b *books) error {
	id, err := awaitingEffect(d, b)
	if err != nil {
		return err
	}
	if e := d.person(d.k.bin+"/pulse-approve", "yes", id); e.status != 0 {
		return fmt.Errorf("pulse-approve yes: %v", e)
	}
	b.yes[id]++
	return nil
}

func awaitingEffect(d *desk, b *books) (id string, err error) {
	out, err := d.must(effect(1), "pulse-queue", "add")
	if err == nil {
		err = b.receipts(out)
	}
	if err != nil {
		return "", err
	}
	return ids(b.acked)[0], nil
}

// answering is a person's answer to one effect. An approved effect is then started, and
// any other must never be.
func answering(name, end string, argv ...string) *scenario {
	s := &scenario{name: name, person: true}
	id := ""
	s.prepare = func(d *desk, b *books) (err error) {
		id, err = awaitingEffect(d, b)
		return err
	}
	s.argv = func(_ *desk, bin string) []string {
		return append(append([]string{bin + "/" + argv[0], argv[1]}, id), argv[2:]...)
	}
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
		_, err := d.must("", "pulse-queue", append([]string{"run", "--effect", "external_send", "--"}, d.worker(0)...)...)
		return err
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
	s.argv = func(_ *desk, bin string) []string { return []string{bin + "/pulse-queue", "cancel", id} }
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
		_, err := d.must("", "pulse-queue", "cancel", id)
		return err
	}
	s.argv = func(_ *desk, bin string) []string { return []string{bin + "/pulse-queue", "requeue", id} }
	s.whole = func(was, is map[string]laid) string { return moved(was, is, map[string][]string{id: {"scheduled"}}) }
	return s
}
