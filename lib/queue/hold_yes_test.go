package queue_test

import (
	"fmt"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestHoldAfterYes: what a person said yes to starts when limits.hold_after_yes is over and not
// before; what no yes started is not held.
func TestHoldAfterYes(t *testing.T) {
	p := policy.Default()
	p.Limits.HoldAfterYes = 10 * time.Minute
	for after, starts := range map[time.Duration]int{0: 0, 10*time.Minute - time.Second: 0, 10 * time.Minute: 1} {
		s := sends(t, 1)
		id := fmt.Sprintf("%032x", 1)
		s.approve(id, now)
		at := now.Add(after)
		one := s.find(id)
		run := queue.Run{Policy: p, Effect: terms.ExternalSend, Max: 1}
		var o queue.Outlook
		err := s.View(func(v store.View) (err error) {
			o, err = run.Outlook(v, &one, at)
			return err
		})
		if held := o.Limit == "limits.hold_after_yes" && o.Until.Equal(now.Add(10*time.Minute)); err != nil || held != (starts == 0) {
			t.Errorf("%s: %v, %+v", after, err, o)
		}
		if got := s.run(p, terms.ExternalSend, at); len(got) != starts {
			t.Errorf("%s: %q started", after, got)
		}
	}
	s := newShelf(t, stored(1, task.Scheduled, time.Hour, 0))
	if got := s.run(p, "", now.Add(time.Second)); len(got) != 1 {
		t.Errorf("without a yes: %q started", got)
	}
}

// TestHoldAfterYesByAClockAhead: a yes by a clock that is ten years ahead holds its task no longer
// than another one, once the clock is right.
func TestHoldAfterYesByAClockAhead(t *testing.T) {
	w := newWall(t, 5)
	w.policy.Limits.HoldAfterYes = 10 * time.Minute
	w.do(queuetest.Add(queuetest.Mail(1, terms.Review)))
	w.wrong = 10 * 365 * days
	w.do(queuetest.Update("yes", func(tx *queue.Tx, now time.Time) error {
		s, _, err := queuetest.First(tx.View, task.Awaiting)
		if err != nil {
			return err
		}
		return queue.Approve(tx, &s, queue.Yes(&s, "me", approval.Terminal, now), now)
	}))
	w.wrong = 0
	w.do(queuetest.Brake(audit.Released)) // a line, from which a clock can be seen to jump
	for end := w.real.Add(3 * time.Hour); w.run() == 0; w.real = w.real.Add(time.Minute) {
		if w.real.After(end) {
			t.Fatal("it did not start within three hours")
		}
	}
}
