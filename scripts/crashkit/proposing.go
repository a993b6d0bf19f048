package main

import (
	"errors"
	"fmt"
)

// proposer is a worker that proposes to send something and to read. With the draft, that
// makes three effects.
func (d *desk) proposer() []string {
	return []string{"sh", "-c", `echo "$PULSE_TASK" >>` + d.notes + `; cat >/dev/null; ` +
		`echo '{"action":"external_send","target":"bob@partner.example"}'; echo '{"action":"read_public"}'`}
}

const proposed = 3

func (d *desk) propose() error { return d.do(running(d.proposer(), "--proposals")...) }

// take adds the proposals of an outbox, as cron does.
func (d *desk) take(b *books) error {
	in, err := d.decided()
	if err != nil {
		return err
	}
	_, err = d.add(b, in)
	return err
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
	s := asking("run --proposals", 0, "completed")
	s.argv = func(d *desk) []string {
		return append([]string{"pulse-queue"}, running(d.proposer(), "--proposals")...)
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
	s := asking("add, of proposals", 0, "completed")
	prepare := s.prepare
	s.prepare = func(d *desk, b *books) (err error) {
		if err = errors.Join(prepare(d, b), d.propose()); err == nil {
			s.stdin, err = d.decided()
		}
		return err
	}
	s.argv, s.records, s.whole = command("pulse-queue", "add"), func() int { return proposed }, nil
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
