package main

import (
	"errors"
	"strings"
)

// asking is run, on one ask.
func asking(name string, exit int, end string) *scenario {
	s := &scenario{name: name}
	s.prepare = func(d *desk, b *books) error {
		out, err := d.must(strings.Join(mails(1, 1), ""), "pulse-queue", "add")
		return errors.Join(err, b.receipts(out))
	}
	s.argv = func(d *desk, bin string) []string {
		return append([]string{bin + "/pulse-queue", "run", "--"}, d.worker(exit)...)
	}
	s.next = func(d *desk, b *books) error {
		_, err := d.must("", "pulse-queue", append([]string{"run", "--"}, d.worker(exit)...)...)
		return err
	}
	s.whole = func(was, is map[string]laid) string {
		return moved(was, is, map[string][]string{ids(was)[0]: {"running", end}})
	}
	s.late = func(listed map[string]shownTask) string { return only(listed, end) }
	return s
}

// sending is run --effect, on one approved effect.
func sending(name string, exit int) *scenario {
	s := &scenario{name: name}
	run := func(d *desk) []string {
		return append([]string{"run", "--effect", "external_send", "--"}, d.worker(exit)...)
	}
	s.prepare = func(d *desk, b *books) error { return approvedEffect(d, b) }
	s.argv = func(d *desk, bin string) []string { return append([]string{bin + "/pulse-queue"}, run(d)...) }
	s.next = func(d *desk, b *books) error {
		_, err := d.must("", "pulse-queue", run(d)...)
		return err
	}
	s.whole = func(was, is map[string]laid) string {
		return moved(was, is, map[string][]string{ids(was)[0]: {"running", "awaiting_review", "completed"}})
	}
	s.late = func(listed map[string]shownTask) string {
		if exit == 75 {
			return only(listed, "scheduled", "awaiting_review")
		}
		return only(listed, "completed", "awaiting_review")
	}
	return s
}
