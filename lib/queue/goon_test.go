package queue_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// turn starts the next ask, whose client keeps its session, and returns what it was told and its
// task.
func (d *desk) turn(out ...string) (told []queue.Outcome, id string) {
	d.t.Helper()
	claim, _, _ := d.once("", true, out...)
	return claim.Outcomes, claim.Task.ID
}

// write is a proposal that the policy allows.
func write(n int) string { return fmt.Sprintf(`{"action":"write_local","tool":"notes.x%d"}`, n) }

// carry starts the next write, with its result.
func (d *desk) carry(exit int, result, said string) {
	d.t.Helper()
	run := queue.Run{Policy: d.p, Effect: terms.WriteLocal, Max: 1, Now: func() time.Time { return d.now }}
	var claim *queue.Claim
	d.update(func(tx *queue.Tx) (err error) {
		claim, _, err = run.Next(tx, func(string) error { return nil })
		return err
	})
	if claim == nil {
		d.t.Fatal("nothing to start")
	}
	d.update(func(tx *queue.Tx) error {
		_, err := queue.Finish(tx, claim, queue.End{Exit: exit, Result: []byte(result), Stderr: []byte(said)}, &d.p.Limits, d.now)
		return err
	})
}

// TestGoesOn: an ask goes on once its last effect has ended, is told how, and does so max_continues
// times at most. One whose client keeps no session, or that proposes nothing, has ended.
func TestGoesOn(t *testing.T) {
	d := newDesk(t)
	d.p.Tools.Action = map[string]terms.Action{"notes.*": terms.WriteLocal}
	d.p.Limits.MaxContinues = 2
	id, _ := d.add(fmt.Sprintf(ask, 1))
	state := func(want task.State, continues int) {
		t.Helper()
		if s := d.find(id); s.Task.State != want || s.Task.Continues != continues {
			t.Fatalf("%s, %d, %s: want %s, %d", s.Task.State, s.Task.Continues, s.Task.Reason, want, continues)
		}
	}
	if told, _ := d.turn(write(1), write(2)); len(told) > 0 {
		t.Error(told)
	}
	state(task.Completed, 0)
	effects, _ := d.take()
	state(task.Completed, 0)
	d.carry(0, "first", "")
	state(task.Completed, 0) // the other one waits
	d.carry(69, "", "it is no longer the file that was judged")
	state(task.Scheduled, 1)

	told, again := d.turn(write(3))
	if again != id || len(told) != 2 || told[0].Task != effects[0] || told[0].Result != "first" || told[0].Ending != "done" ||
		told[1].Ending != "not_done" || told[1].Reason != "it is no longer the file that was judged" {
		t.Errorf("%s: %+v", again, told)
	}
	// What nobody has taken yet has not ended.
	d.add(fmt.Sprintf(ask, 2))
	state(task.Completed, 1)
	if _, other := d.turn(); other == id {
		t.Error("the same ask")
	}
	effects, _ = d.take()
	d.carry(0, "third", "")
	state(task.Scheduled, 2)
	d.turn(write(4)) // the last time: what it proposes is no reason to go on
	d.take()
	d.carry(0, "", "")
	state(task.Completed, 2)

	s := d.find(effects[0])
	if err := queue.Update(d.store, func(tx *queue.Tx) error {
		return queue.Revise(tx, &s, "me", approval.Terminal, "no", &d.p.Limits, d.now)
	}); err == nil {
		t.Error("a no to what has ended")
	}
	s = d.find(id)
	d.update(func(tx *queue.Tx) error {
		return queue.Requeue(tx, &s, queue.Yes(&s, "me", approval.Terminal, d.now), d.now)
	})
	state(task.Scheduled, 0)
}

// TestRevise: a no with words starts the ask again, which is told the words; the effect stays
// refused, and what the root has read stays read.
func TestRevise(t *testing.T) {
	d := newDesk(t)
	d.p.Limits.MaxRevisions, d.p.Limits.MaxContinues = 1, 0
	id, _ := d.add(fmt.Sprintf(ask, 1))
	const mail = `{"action":"external_send","target":"bob@partner.example","args":{"text":"%d"}}`
	revise := func(effect, words string) error {
		d.now = d.now.Add(time.Second)
		s := d.find(effect)
		return queue.Update(d.store, func(tx *queue.Tx) error {
			return queue.Revise(tx, &s, "me", approval.Terminal, words, &d.p.Limits, d.now)
		})
	}
	d.turn(fmt.Sprintf(mail, 1))
	effects, _ := d.take()
	if err := revise(effects[0], "shorter, please"); err != nil {
		t.Fatal(err)
	}
	if s := d.find(effects[0]); s.Task.State != task.Rejected || s.Task.Reason != "shorter, please" {
		t.Errorf("%+v", s.Task)
	}
	told, again := d.turn(fmt.Sprintf(mail, 2))
	if again != id || len(told) != 1 || told[0].Ending != "refused" || told[0].Reason != "shorter, please" {
		t.Errorf("%s: %+v", again, told)
	}
	effects, _ = d.take()
	if err := revise(effects[0], "no"); !errors.Is(err, queue.ErrRevised) {
		t.Error(err)
	}
	if s := d.find(effects[0]); s.Task.State != task.Awaiting {
		t.Errorf("half of it was done: %+v", s.Task)
	}
}

// TestOutboxUnread: an ask does not go on while its outbox can't be read.
func TestOutboxUnread(t *testing.T) {
	d := newDesk(t)
	d.p.Tools.Action = map[string]terms.Action{"notes.*": terms.WriteLocal}
	d.p.Limits.MaxContinues = 2
	id, _ := d.add(fmt.Sprintf(ask, 1))
	d.turn(write(1), write(2))
	lines := d.outbox()
	effect, _ := d.add(lines[0])
	run := queue.Run{Policy: d.p, Effect: terms.WriteLocal, Max: 1, Now: func() time.Time { return d.now }}
	var claim *queue.Claim
	d.update(func(tx *queue.Tx) (err error) {
		claim, _, err = run.Next(tx, func(string) error { return nil })
		return err
	})
	if claim == nil || claim.Task.ID != effect {
		t.Fatal(claim)
	}
	if err := queue.Update(unread{d.store, store.Outbox, store.ErrCorrupt}, func(tx *queue.Tx) error {
		_, err := queue.Finish(tx, claim, queue.End{}, &d.p.Limits, d.now)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if s := d.find(id); s.Task.State != task.Completed {
		t.Errorf("it goes on: %s", s.Task.State)
	}
}
