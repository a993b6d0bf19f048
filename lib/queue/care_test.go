package queue

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/identity"
	"pulse/lib/request"
	"pulse/lib/task"
	"pulse/lib/terms"
)

// shelf is a Tx that holds some tasks and collects the moves.
type shelf struct {
	Tx
	order []string
	tasks map[string]Stored
	bad   map[string]error // of Load
	moved []audit.Line
	loads int
}

func (s *shelf) State(id string) (task.State, error) { return s.tasks[id].Task.State, nil }

func (s *shelf) Load(st task.State, id string) (Stored, error) {
	s.loads++
	t, ok := s.tasks[id]
	if !ok || t.Task.State != st {
		return Stored{}, ErrUnknown
	}
	return t, s.bad[id]
}

// in lists what was in a state, with what is gone since.
func (s *shelf) in(st task.State) (ids []ID) {
	for _, id := range s.order {
		if t, ok := s.tasks[id]; !ok || t.Task.State == st {
			ids = append(ids, IDOf(id))
		}
	}
	return ids
}

func (s *shelf) Move(l audit.Line) error {
	if err := task.Legal(l.Event, l.From, l.To); err != nil {
		return err
	}
	t := s.tasks[l.Task]
	if t.Task.State != l.From {
		return ErrConflict
	}
	t.Task.State, t.Task.Change = l.To, l.Change
	s.tasks[l.Task] = t
	s.moved = append(s.moved, l)
	return nil
}

// now is the time of these tests.
var now = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

// stored is a task with the nth id, made and moved last so long ago.
func stored(n int, st task.State, made, moved time.Duration) Stored {
	var s Stored
	s.Task = task.Task{ID: fmt.Sprintf("%032x", n), State: st, Kind: task.Ask, Created: now.Add(-made), Digest: "sha256:d"}
	s.Task.Since = now.Add(-moved)
	s.Decision.Action = terms.ReadPublic
	return s
}

func outward(s Stored) Stored {
	s.Identity.Via, s.Decision.Action = identity.ViaAgent, terms.ExternalSend
	s.Request = &request.Request{Action: terms.ExternalSend, Target: []string{"bob@partner.example"}}
	return s
}

func newShelf(list ...Stored) *shelf {
	s := &shelf{tasks: map[string]Stored{}, bad: map[string]error{}}
	for _, t := range list {
		s.order = append(s.order, t.Task.ID)
		s.tasks[t.Task.ID] = t
	}
	return s
}

func TestCancel(t *testing.T) {
	for st, want := range map[task.State]error{
		task.Scheduled: nil, task.Running: nil, task.Awaiting: ErrState, task.Completed: ErrState,
		task.Rejected: ErrState, task.Failed: ErrState, task.Corrupt: ErrState,
	} {
		one := stored(1, st, time.Hour, time.Minute)
		one.Task.Attempts, one.Task.NotBefore = 2, now.Add(time.Hour)
		s := newShelf(one)
		was, err := Cancel(s, one.Task.ID, "me (uid 1)", now)
		if !errors.Is(err, want) || was.Task.State != st {
			t.Errorf("%s: %v, it was %s", st, err, was.Task.State)
		}
		if (len(s.moved) == 1) != (want == nil) {
			t.Fatalf("%s: %+v", st, s.moved)
		}
		if want != nil {
			continue
		}
		l := s.moved[0]
		if l.To != task.Rejected || l.By != "me (uid 1)" || l.Approval != nil || l.Change.Attempts != 2 ||
			l.Change.Reason != ReasonCancelled || !l.Change.NotBefore.IsZero() {
			t.Errorf("%s: %+v", st, l)
		}
	}
}

// TestCancelWhatCannotBeRead: to stop something one need not understand it.
func TestCancelWhatCannotBeRead(t *testing.T) {
	one := stored(1, task.Running, 0, 0)
	s := newShelf(one)
	s.bad[one.Task.ID] = ErrCorrupt
	if _, err := Cancel(s, one.Task.ID, "me", now); err != nil || len(s.moved) != 1 {
		t.Error(err, s.moved)
	}
}

func TestRequeue(t *testing.T) {
	for _, st := range task.States {
		one := outward(stored(1, st, time.Hour, time.Minute))
		one.Task.Attempts, one.Task.Restarts, one.Task.NotBefore = 3, 2, now.Add(time.Hour)
		s := newShelf(one)
		may := Requeueable(&one) == nil
		err := Requeue(s, &one, Yes(&one, "me (uid 1)", approval.Terminal, now), now)
		if may != (err == nil) || may != (st == task.Completed || st == task.Rejected || st == task.Failed) {
			t.Errorf("%s: may %t, %v", st, may, err)
		}
		if err != nil {
			continue
		}
		l := s.moved[0]
		a := l.Approval
		if l.To != task.Scheduled || l.Change != (task.Change{Since: now, Reason: ReasonRequeued}) || l.By != "me (uid 1)" || l.Level != approval.Terminal {
			t.Errorf("%s: %+v", st, l)
		}
		if a.Task != one.Task.ID || a.Action != terms.ExternalSend || len(a.Target) != 1 || a.Good("sha256:d", approval.Terminal, now) != nil ||
			a.Good("sha256:d", approval.Terminal, now.Add(approval.Lifetime)) == nil {
			t.Errorf("%s: %+v", st, a)
		}
	}
}

// TestRequeueWhatWasShown: other bytes, or another state, want another yes.
func TestRequeueWhatWasShown(t *testing.T) {
	shown := stored(1, task.Failed, time.Hour, time.Minute)
	edited, moved := shown, shown
	edited.Task.Digest = "sha256:other"
	moved.Task.State = task.Rejected
	for what, is := range map[string]Stored{"edited": edited, "moved": moved} {
		s := newShelf(is)
		if err := Requeue(s, &shown, Yes(&shown, "me", approval.Terminal, now), now); !errors.Is(err, ErrConflict) || len(s.moved) > 0 {
			t.Errorf("%s: %v, %+v", what, err, s.moved)
		}
	}
}

func TestHappened(t *testing.T) {
	failed := stored(1, task.Failed, 0, 0)
	failed.Task.Attempts = 1
	died := stored(1, task.Rejected, 0, 0)
	died.Task.Restarts = 1
	cancelled := stored(1, task.Rejected, 0, 0)
	cancelled.Task.Reason = ReasonCancelled
	for what, c := range map[string]struct {
		s    Stored
		want bool
	}{
		"done":          {stored(1, task.Completed, 0, 0), true},
		"tried":         {failed, true},
		"died":          {died, true},
		"cancelled":     {cancelled, true},
		"never started": {stored(1, task.Rejected, 0, 0), false},
	} {
		if got := Happened(&c.s); (got != "") != c.want {
			t.Errorf("%s: %q", what, got)
		}
	}
}

func TestPrune(t *testing.T) {
	const day = 24 * time.Hour
	list := []Stored{
		stored(1, task.Completed, 40*day, 35*day),
		stored(2, task.Completed, 40*day, 30*day), // exactly so old
		stored(3, task.Completed, 40*day, 29*day), // made long ago, done lately
		stored(4, task.Rejected, 40*day, 35*day),  // in another state
		stored(5, task.Completed, 31*day, 31*day),
		stored(6, task.Completed, 2*day, day),
		stored(7, task.Completed, day, day),
	}
	s := newShelf(list...)
	n, left, err := Prune(s, task.Completed, s.in(task.Completed), 30*day, "me", now)
	if n != 3 || len(left) != 0 || err != nil {
		t.Errorf("%d, %v, %v", n, left, err)
	}
	for i, want := range []int{0, 1, 4} {
		if l := s.moved[i]; l.Task != list[want].Task.ID || l.Event != task.Pruned || l.To != "" || l.By != "me" {
			t.Errorf("%+v", l)
		}
	}
	if s.loads != 5 {
		t.Errorf("%d files were read: the first one that is too young ends it", s.loads)
	}
}

func TestPruneInTurns(t *testing.T) {
	s := newShelf()
	for i := range maxMoves + 10 {
		one := stored(i, task.Failed, time.Hour, -time.Hour) // the clock went back
		s.order, s.tasks[one.Task.ID] = append(s.order, one.Task.ID), one
	}
	s.bad[s.order[3]] = ErrCorrupt
	delete(s.tasks, s.order[4])
	n, left, err := Prune(s, task.Failed, s.in(task.Failed), 0, "me", now)
	if n != maxMoves-2 || len(left) != 10 || err != nil {
		t.Fatalf("%d, %d left, %v", n, len(left), err)
	}
	if n, left, err = Prune(s, task.Failed, left, 0, "me", now); n != 10 || len(left) != 0 || err != nil {
		t.Errorf("%d, %d left, %v", n, len(left), err)
	}
}
