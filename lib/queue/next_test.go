package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestNextInTurns: what may not start any more is set aside, so many in one Update, and
// what another run has is left alone.
func TestNextInTurns(t *testing.T) {
	var list []*queue.Stored
	for i := range queue.MaxMoves + 1 {
		one := stored(i, task.Scheduled, time.Hour, time.Hour)
		one.Identity.Trust = terms.Unknown
		list = append(list, one)
	}
	taken, free := stored(9001, task.Scheduled, time.Hour, time.Hour), stored(9002, task.Scheduled, time.Hour, time.Hour)
	s := newShelf(t, append(list, taken, free)...)
	run := queue.Run{Policy: queuetest.Policy, Max: 1, Now: func() time.Time { return now }, Account: "worker"}
	lock := func(id string) error {
		if id == taken.Task.ID {
			return fmt.Errorf("%w: another run", store.ErrConflict)
		}
		return nil
	}
	var started []string
	for i, want := range []bool{true, false, false} {
		err := s.update(func(tx *queue.Tx) error {
			claim, more, err := run.Next(tx, lock)
			if claim != nil {
				started = append(started, claim.Task.ID)
			}
			if more != want {
				t.Errorf("more is %t", more)
			}
			return err
		})
		if err != nil || i == 0 && len(s.lines()) != queue.MaxMoves {
			t.Error(err, len(s.lines()))
		}
	}
	if !slices.Equal(started, []string{free.Task.ID}) || len(s.lines()) != queue.MaxMoves+2 || s.find(list[0].Task.ID).Task.State != task.Rejected {
		t.Errorf("%v, %d lines", started, len(s.lines()))
	}
	if l := s.lines()[queue.MaxMoves+1]; l.Event != task.Started || l.Account != "worker" {
		t.Errorf("%+v", l)
	}
	s = newShelf(t, free)
	run.Max = 2
	err := s.update(func(tx *queue.Tx) error {
		_, _, err := run.Next(tx, func(string) error { return errBroken })
		return err
	})
	if !errors.Is(err, errBroken) || len(s.lines()) > 0 {
		t.Errorf("%v, %+v", err, s.lines())
	}
}

// TestNextOfBrokenFiles: a file that is not what was accepted starts nothing, and lies
// aside.
func TestNextOfBrokenFiles(t *testing.T) {
	for name, c := range map[string]struct {
		lay func(s *shelf, one *queue.Stored)
		why string // "": it is left to verify
	}{
		"gone": {func(s *shelf, one *queue.Stored) { s.Lay(store.On(task.Scheduled), one.Task.ID, store.Item{}) }, ""},
		"broken": {func(s *shelf, one *queue.Stored) {
			s.Lay(store.On(task.Scheduled), one.Task.ID, store.Item{Bytes: []byte("{")})
		}, "corrupt"},
		"edited": {func(s *shelf, one *queue.Stored) {
			s.Lay(store.On(task.Scheduled), one.Task.ID, store.Item{Bytes: append(one.File, '\n')})
		}, "edited"},
	} {
		one := stored(1, task.Scheduled, time.Hour, time.Hour)
		s := newShelf(t, one)
		c.lay(s, one)
		claim, err := s.next(&queue.Run{Policy: queuetest.Policy, Max: 1, Now: func() time.Time { return now }})
		if claim != nil || err != nil || (len(s.lines()) == 1 && s.lines()[0].Event == task.Broke && s.lines()[0].Change.Reason == c.why) != (c.why != "") {
			t.Errorf("%s: %v, %+v", name, err, s.lines())
		}
	}
}

// TestReturn: what a start spent is given back if its task is scheduled again.
func TestReturn(t *testing.T) {
	one := subjects(t)["an effect"]
	s := newShelf(t, one)
	s.answer(one.Task.ID, approvals(one)["signed well"])
	p := policy.Default()
	p.Owners, p.Approval.Require = []string{"me@example.com"}, string(approval.Signature)
	signed := &returning{}
	run := queue.Run{Policy: p, Max: 1, Effect: terms.ExternalSend, Signed: signed, Now: func() time.Time { return now }}
	claim, err := s.next(&run)
	if claim == nil || err != nil || signed.spent != 1 {
		t.Fatal(err, signed.spent)
	}
	for to, want := range map[task.State]int{task.Completed: 0, task.Awaiting: 0, task.Scheduled: 1} {
		signed.returned = 0
		if err := run.Return(claim, &audit.Line{To: to}); err != nil || signed.returned != want {
			t.Errorf("%s: %v, %d", to, err, signed.returned)
		}
	}
	signed.returned = 0
	if err := run.Return(&queue.Claim{}, &audit.Line{To: task.Scheduled}); err != nil || signed.returned != 0 {
		t.Error(err, signed.returned)
	}
}

// returning counts what is given back.
type returning struct {
	keys
	returned int
}

func (r *returning) Return(proofs []approval.Proof, _ time.Time) error {
	r.returned += len(proofs)
	return nil
}

// TestLimits: what started within a day counts against the day, within an hour against
// the sender; of this kind, and of no other.
func TestLimits(t *testing.T) {
	start := func(ago time.Duration, kind task.Kind, sender string) audit.Line {
		return audit.Line{Time: now.Add(-ago), Event: task.Started, Kind: kind, Sender: sender}
	}
	const me, you = "me@example.com", "you@example.com"
	for name, c := range map[string]struct {
		before audit.Line
		starts bool
	}{
		"nothing of this kind":   {start(time.Minute, task.Effect, me), true},
		"one, within the hour":   {start(time.Hour-1, task.Ask, me), false},
		"one, an hour ago":       {start(time.Hour, task.Ask, me), true},
		"of another sender":      {start(time.Minute, task.Ask, you), true},
		"in the future":          {start(-time.Minute, task.Ask, me), false},
		"in another case":        {start(time.Minute, task.Ask, "ME@example.com"), false},
		"two, within a day":      {start(store.Window-1, task.Ask, you), false},
		"two, one of a day ago":  {start(store.Window, task.Ask, you), true},
		"two, one of the future": {start(-25*time.Hour, task.Ask, you), false},
	} {
		mail := stored(1, task.Scheduled, time.Hour, time.Hour)
		mail.Identity.Sender, mail.Identity.Trust = me, terms.OwnerVerifiedEmail
		mail.Message = &envelope.Message{Source: "s", ID: "<1@t>"}
		s := newShelf(t, mail)
		p := policy.Default()
		p.Owners, p.Limits.PerSenderPerHour, p.Limits.MaxPerDay = []string{me}, 1, 100
		if s.started(c.before); strings.HasPrefix(name, "two") {
			s.started(start(2*time.Hour, task.Ask, you))
			p.Limits.MaxPerDay = 2
		}
		claim, err := s.next(&queue.Run{Policy: p, Max: 9, Now: func() time.Time { return now }})
		if err != nil || (claim != nil) != c.starts {
			t.Errorf("%s: starts %t, %v", name, claim != nil, err)
		}
	}
}

// TestIntervalOfWhatDidNotHappen: a start that its sender says did not happen is none, and
// the one before it is.
func TestIntervalOfWhatDidNotHappen(t *testing.T) {
	s := subjects(t)["an effect"]
	start := audit.Line{Event: task.Started, Task: two, Target: s.Target()}
	restored := audit.Line{Event: task.Restored, Task: two}
	refused := audit.Line{Event: task.GaveUp, Task: two, Change: task.Change{Reason: queue.ReasonNotDone}}
	for name, c := range map[string]struct {
		log  []audit.Line
		soon bool
	}{
		"nothing":                  {nil, false},
		"started":                  {[]audit.Line{start}, true},
		"did not happen":           {[]audit.Line{start, restored}, false},
		"its sender refused it":    {[]audit.Line{start, refused}, false},
		"the one before may have":  {[]audit.Line{start, start, restored}, true},
		"neither happened":         {[]audit.Line{start, restored, start, restored}, false},
		"started again after that": {[]audit.Line{start, restored, start}, true},
	} {
		b := newShelf(t, s)
		b.answer(s.Task.ID, approvals(s)["signed well"])
		for i := range c.log {
			c.log[i].Time = now.Add(-time.Minute)
		}
		b.started(c.log...)
		run := queue.Run{Policy: policy.Default(), Max: 9, Effect: terms.ExternalSend, Now: func() time.Time { return now }}
		run.Policy.Owners = []string{"me@example.com"}
		if claim, err := b.next(&run); err != nil || (claim == nil) != c.soon {
			t.Errorf("%s: starts %t, %v", name, claim != nil, err)
		}
	}
}

// TestAskKeepsItsYes: an ask that was approved and comes back, from a worker that failed
// or died, starts again without another yes; an effect does not.
func TestAskKeepsItsYes(t *testing.T) {
	for what, again := range map[string]bool{"an ask for a person": true, "an effect": false} {
		for _, died := range []bool{true, false} {
			one := subjects(t)[what]
			s := newShelf(t, one)
			a := approvals(one)["signed well"]
			a.Expires = now.Add(time.Hour * 9)
			s.answer(one.Task.ID, a)
			at := now
			run := queue.Run{Policy: policy.Default(), Max: 9, Now: func() time.Time { return at }}
			run.Policy.Owners = []string{"me@example.com"}
			if !again {
				run.Effect = terms.ExternalSend
			}
			claim, err := s.next(&run)
			if claim == nil || err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			err = s.update(func(tx *queue.Tx) (err error) {
				if died {
					_, err = queue.Reap(tx, &run.Policy.Limits, at, func(string) bool { return true })
				} else {
					_, err = queue.Finish(tx, claim, queue.End{Exit: 1}, &run.Policy.Limits, at)
				}
				return err
			})
			at = at.Add(time.Hour)
			if claim, nextErr := s.next(&run); err != nil || nextErr != nil || (claim != nil) != again {
				t.Errorf("%s, died %t: it starts again %t, %v", what, died, claim != nil, nextErr)
			}
		}
	}
}
