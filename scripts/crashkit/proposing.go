package main

import (
	"errors"
	"fmt"
	"strings"
)

// proposer is a worker that proposes to send something and to read. With the draft, that
// makes three effects.
func (d *desk) proposer() []string {
	return []string{"sh", "-c", `echo "$PULSE_TASK" >>` + d.starts() + `; cat >/dev/null; ` +
		`echo '{"action":"external_send","target":"bob@partner.example"}'; echo '{"action":"read_public"}'`}
}

const proposed = 3

func (d *desk) propose() error {
	_, err := d.must("", "pulse-queue", append([]string{"run", "--proposals", "--"}, d.proposer()...)...)
	return err
}

// take adds the proposals of an outbox, as cron does.
func (d *desk) take(b *books) error {
	in, err := d.decided()
	if err != nil {
		return err
	}
	out, err := d.must(in, "pulse-queue", "add")
	return errors.Join(err, b.receipts(out))
}

func (d *desk) decided() (string, error) {
	out, err := d.must("", "pulse-queue", "outbox")
	if err == nil {
		out, err = d.must(string(out), "pulse-authorize")
	}
	return string(out), err
}

// emptied returns what is wrong after every proposal was added.
func emptied(listed map[string]shownTask) string {
	effects := 0
	for _, t := range listed {
		if t.Kind == "effect" {
			effects++
		}
	}
	if effects != proposed {
		return fmt.Sprintf("proposals: %d effects of %d", effects, proposed)
	}
	return only(listed, "completed", "awaiting_review", "scheduled")
}

// proposing is run --proposals, on one ask.
func proposing() *scenario {
	s := &scenario{name: "run --proposals"}
	s.prepare = func(d *desk, b *books) error {
		out, err := d.must(strings.Join(mails(1, 1), ""), "pulse-queue", "add")
		return errors.Join(err, b.receipts(out))
	}
	s.argv = func(d *desk, bin string) []string {
		return append([]string{bin + "/pulse-queue", "run", "--proposals", "--"}, d.proposer()...)
	}
	s.next = func(d *desk, b *books) error {
		if err := d.propose(); err != nil {
			return err
		}
		if err := d.take(b); err != nil {
			return err
		}
		return d.take(b) // the same again, for a pipe that was cut
	}
	s.whole = func(was, is map[string]laid) string {
		return moved(was, is, map[string][]string{ids(was)[0]: {"running", "completed"}})
	}
	s.late = func(listed map[string]shownTask) string {
		for _, t := range listed {
			if t.Kind == "ask" && t.State != "completed" { // its worker was hit: it proposes the next time
				return only(listed, "completed")
			}
		}
		return emptied(listed)
	}
	return s
}

// taking is add of the proposals.
func taking() *scenario {
	s := &scenario{name: "add, of proposals", records: func() int { return proposed }}
	s.prepare = func(d *desk, b *books) (err error) {
		out, err := d.must(strings.Join(mails(1, 1), ""), "pulse-queue", "add")
		if err = errors.Join(err, b.receipts(out), d.propose()); err == nil {
			s.stdin, err = d.decided()
		}
		return err
	}
	s.argv = func(_ *desk, bin string) []string { return []string{bin + "/pulse-queue", "add"} }
	s.next = func(d *desk, b *books) error {
		if err := d.take(b); err != nil {
			return err
		}
		if left, err := d.decided(); left != "" || err != nil {
			return fmt.Errorf("outbox: it still has %q (%v)", left, err)
		}
		return nil
	}
	s.late = emptied
	return s
}
