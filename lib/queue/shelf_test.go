package queue

import (
	"fmt"
	"time"

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
