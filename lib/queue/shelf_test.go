package queue_test

import (
	"fmt"
	"testing"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// now is the time of these tests.
var now = queuetest.Epoch

// shelf is a store in which tasks were laid before the test begins.
type shelf struct {
	*queuetest.Memory
	t    testing.TB
	laid int // lines
}

// newShelf lays tasks in a new store, and fills in what a store knows of them.
func newShelf(t testing.TB, list ...*queue.Stored) *shelf {
	t.Helper()
	s := &shelf{queuetest.NewMemory(), t, len(list)}
	for _, one := range list {
		put, err := s.Put(*one)
		if err != nil {
			t.Fatal(err)
		}
		*one = put
	}
	return s
}

// update runs fn in an Update and returns its error.
func (s *shelf) update(fn func(tx *queue.Tx) error) error { return queue.Update(s.Memory, fn) }

// believe makes the queue believe a clock.
func (s *shelf) believe(at time.Time) {
	s.t.Helper()
	for _, ago := range []time.Duration{time.Hour, 0} {
		line := audit.Line{Time: at.Add(-ago), Event: audit.Released}
		if err := s.update(func(tx *queue.Tx) error { return tx.Log(line) }); err != nil {
			s.t.Fatal(err)
		}
	}
}

// view runs fn in a View, which must not fail.
func (s *shelf) view(fn func(v store.View) error) {
	s.t.Helper()
	if err := s.View(fn); err != nil {
		s.t.Fatal(err)
	}
}

// lines are those that came after the tasks were laid.
func (s *shelf) lines() []audit.Line { return s.Log()[s.laid:] }

// find loads a task.
func (s *shelf) find(id string) (one queue.Stored) {
	s.t.Helper()
	s.view(func(v store.View) (err error) {
		one, err = queue.Find(v, id)
		return err
	})
	return one
}

// stored is a task with the nth id, made and moved last so long ago.
func stored(n int, st task.State, made, moved time.Duration) *queue.Stored {
	var s queue.Stored
	s.Task = task.Task{ID: fmt.Sprintf("%032x", n), State: st, Kind: task.Ask, Created: now.Add(-made)}
	s.Task.Since = now.Add(-moved)
	s.Identity.Trust, s.Identity.Verified = terms.System, true
	s.Decision.Action, s.Decision.Outcome = terms.ReadPublic, terms.Allow
	return &s
}

// effect makes a task an effect that wants what a request says.
func effect(s *queue.Stored, root, wish string) *queue.Stored {
	r, err := request.Decode(record.Value(wish))
	if err != nil {
		panic(err)
	}
	s.Request, s.Decision.Action, s.Task.Kind = &r, r.Action, task.Effect
	s.Identity.Via, s.Identity.Parent, s.Identity.Root = identity.ViaAgent, root, root
	return s
}

// outward makes a task a message to Bob.
func outward(s *queue.Stored) *queue.Stored {
	s.Decision.Outcome = terms.Confirm
	return effect(s, fmt.Sprintf("%032x", 0xa5c), `{"action":"external_send","target":["bob@partner.example"]}`)
}

// everything is what a store has of ids in these states.
func (s *shelf) everything(states ...task.State) (ids []store.ID) {
	s.t.Helper()
	all, err := s.List(states, func(*store.Entry) bool { return true })
	if err != nil {
		s.t.Fatal(err)
	}
	for _, l := range all {
		ids = append(ids, l.IDs...)
	}
	return ids
}

// one and two are ids.
const (
	one = "11111111111111111111111111111111"
	two = "22222222222222222222222222222222"
)

// yes is an approval, made of grants or not.
func yes(grants ...approval.Grant) *approval.Approval {
	return &approval.Approval{Task: one, By: "me", Level: approval.Terminal, Given: now, Expires: now.Add(time.Hour), Grants: grants}
}

// given, opened are a grant and a session.
func given() *approval.Grant {
	return &approval.Grant{ID: "a1", Target: "bob@partner.example", By: "me", Level: approval.Terminal, Given: now, Expires: now.Add(time.Hour)}
}

func opened(left int, level approval.Level) *approval.Session {
	return &approval.Session{ID: "b1", Sender: "me@example.com", Max: 3, Left: left, By: "me", Level: level, Opened: now, Expires: now.Add(time.Hour)}
}
