package spool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pulse/lib/proposal"
	"pulse/lib/queue"
	"pulse/lib/record"
	"pulse/lib/task"
	"pulse/lib/terms"
)

// propose ends a worker well, which proposes to send something, to read, to note
// something on its own task and, if there is one, to close what awaits a person.
func propose(n int) operation {
	return update("propose", func(tx *queue.Tx, now time.Time) error {
		s, found, err := first(tx, task.Running)
		if !found || err != nil {
			return err
		}
		out := fmt.Sprintf(`{"action":"external_send","target":"bob%d@partner.example","args":{"text":"hi"}}`+"\n", n) +
			`{"action":"read_public","args":{"q":"news"}}` + "\n" +
			`{"action":"read_public","args":{"q":"news"}}` + "\n" +
			`{"action":"write_local","tool":"task.note","args":{"task":"` + s.Task.ID + `","text":"seen"}}` + "\n" +
			`{"action":"write_local","tool":"task.close","args":{"task":"` + s.Task.ID + `"}}` + "\n" + // not legal: it runs
			"no proposal\n"
		list, discarded := proposal.Read([]byte(out), false, nil)
		end := queue.End{Result: []byte(out), Proposals: &queue.Proposals{List: list, Discarded: discarded}}
		_, err = queue.Finish(tx, &queue.Claim{Stored: s}, end, &ours.Limits, now)
		return err
	})
}

// take decides on all that was proposed and adds it: reads are rejected, so that
// every kind of receipt is there.
var take = operation{"take", func(s *Spool, now time.Time) error {
	var lines []string
	err := s.View(func(v queue.View) error {
		return outboxes(v, func(parent string) error {
			file, err := queue.OutboxOf(v, parent)
			for line := range strings.Lines(string(file)) {
				lines = append(lines, decided(line))
			}
			return err
		})
	})
	if err != nil || len(lines) == 0 {
		return err
	}
	return add(lines...).do(s, now)
}, false}

func decided(line string) string {
	action, outcome := terms.WriteLocal, terms.Allow
	if strings.Contains(line, `"action":"external_send"`) {
		action, outcome = terms.ExternalSend, terms.Confirm
	} else if strings.Contains(line, `"action":"read_public"`) {
		action, outcome = terms.ReadPublic, terms.Reject
	}
	return strings.TrimSuffix(line, "}\n") + fmt.Sprintf(`,"decision":{"action":%q,"outcome":%q,"rule":"r","reason":"allowed","why":""}}`, action, outcome)
}

var chores = update("chores", func(tx *queue.Tx, now time.Time) error {
	run := queue.Run{Policy: ours, Max: 1, Now: func() time.Time { return now }}
	_, err := run.Chores(tx, now)
	return err
})

// TestOutboxLives: what was proposed is there until it has a receipt, and what was
// not taken yet survives that its task proposes again.
func TestOutboxLives(t *testing.T) {
	w := newWorld(true, false)
	s, now := spoolOn(w.disk), epoch
	do := func(op operation) {
		t.Helper()
		now = now.Add(time.Hour)
		if err := op.do(s, now); err != nil {
			t.Fatalf("%s: %v", op.name, err)
		}
		if err := sound(s); err != nil {
			t.Fatalf("%s: %v", op.name, err)
		}
	}
	ids := func() (list []string) {
		t.Helper()
		err := s.View(func(v queue.View) error {
			return outboxes(v, func(parent string) error {
				file, err := queue.OutboxOf(v, parent)
				queue.EachProposed(file, func(id string, line []byte) error {
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
	s.View(func(v queue.View) error {
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

// TestOutboxThatIsBroken stops nobody: verify says so.
func TestOutboxThatIsBroken(t *testing.T) {
	w := newWorld(true, false)
	s := spoolOn(w.disk)
	for i, op := range []operation{add(mails(1, 1)...), start(""), propose(1)} {
		if err := op.do(s, epoch.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	parent := ""
	s.View(func(v queue.View) error {
		return outboxes(v, func(id string) error { parent = id; return nil })
	})
	if err := w.disk.Write(fileOf(queue.Outbox, parent), []byte("garbage\n"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := sound(s); err == nil {
		t.Error("verify finds nothing")
	}
	known := strings.Replace(effect(1), "0123456789abcdef0123456789abcdef", parent, 1)
	for range 2 { // the second time it is known, and wants to be settled
		if err := add(known).do(s, epoch.Add(24*time.Hour)); err != nil {
			t.Error(err)
		}
	}
}

// outboxes calls fn for the tasks that have an outbox.
func outboxes(v queue.View, fn func(parent string) error) error {
	list, err := queue.Proposers(v)
	for _, parent := range list {
		if err == nil {
			err = fn(parent)
		}
	}
	return err
}
