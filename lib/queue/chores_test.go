package queue_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// errBroken is what a store says that failed on the way.
var errBroken = errors.New("the store failed")

// failAt makes the nth step from now fail, and returns a pointer to whether it did.
func (s *shelf) failAt(n int) *bool {
	failed := new(bool)
	s.Fail = func(string) error {
		if n--; n == -1 {
			*failed = true
			return errBroken
		}
		return nil
	}
	return failed
}

// failOn makes every step of a name fail.
func (s *shelf) failOn(name string) {
	s.Fail = func(step string) error {
		if step == name {
			return errBroken
		}
		return nil
	}
}

// chore is an effect on the queue itself, which came out of a root that asked made.
func chore(n int, root, tool, subject string) *queue.Stored {
	return evident(n, root, tool, subject, `["<1@t>"]`)
}

func evident(n int, root, tool, subject, evidence string) *queue.Stored {
	return effect(stored(n, task.Scheduled, time.Minute, time.Minute), root,
		fmt.Sprintf(`{"action":"write_local","tool":%q,"args":{"task":%q,"text":"seen"},"evidence":%s}`, tool, subject, evidence))
}

// asked makes a task one that a proven message asks for.
func asked(s *queue.Stored) *queue.Stored {
	s.Message, s.Identity.Verified = &envelope.Message{ID: "<1@t>", Digest: "sha256:d"}, true
	return s
}

// chores carries out what there is once.
func (s *shelf) chores() (more bool, err error) {
	err = s.update(func(tx *queue.Tx) error {
		more, err = (&queue.Run{Policy: policy.Default()}).Chores(tx, now)
		return err
	})
	return more, err
}

// TestChoresFail: an effect on the queue is completed only if what it wanted was done,
// whichever step fails; and a step that fails is told of.
func TestChoresFail(t *testing.T) {
	for _, tool := range []string{proposal.Close, proposal.Note, proposal.Draft} {
		steps := 0
		for failed := true; failed; steps++ {
			subject := asked(stored(1, task.Scheduled, time.Hour, time.Hour))
			one := chore(2, subject.Task.ID, tool, subject.Task.ID)
			s := newShelf(t, subject, one)
			broke := s.failAt(steps)
			_, err := s.chores()
			s.Fail, failed = nil, *broke
			state, moved := s.find(one.Task.ID).Task.State, s.find(subject.Task.ID).Task.State != task.Scheduled
			if failed {
				if !errors.Is(err, errBroken) || state != task.Scheduled || moved || len(s.lines()) > 0 {
					t.Errorf("%s, when step %d fails: %v, it is %s", tool, steps, err, state)
				}
			} else if err != nil || state != task.Completed || moved != (tool == proposal.Close) {
				t.Errorf("%s: %v, it is %s", tool, err, state)
			}
		}
		if steps < 8 {
			t.Errorf("%s: only %d steps can fail", tool, steps)
		}
	}
}

// TestChoresThatDoNotFit are rejected, and change nothing else.
func TestChoresThatDoNotFit(t *testing.T) {
	root := fmt.Sprintf("%032x", 1)
	for name, c := range map[string]struct {
		tool    string
		subject string
		lay     func(s *shelf, subject *queue.Stored)
		why     string
	}{
		"a note on nothing":          {proposal.Note, fmt.Sprintf("%032x", 77), nil, string(proposal.NotItsTask)},
		"a note on another's":        {proposal.Note, fmt.Sprintf("%032x", 3), nil, string(proposal.NotItsTask)},
		"a note on itself":           {proposal.Note, fmt.Sprintf("%032x", 2), nil, string(proposal.NotItsTask)},
		"a close of another's":       {proposal.Close, fmt.Sprintf("%032x", 3), nil, string(proposal.NotItsTask)},
		"a close of itself":          {proposal.Close, fmt.Sprintf("%032x", 2), nil, string(proposal.NotItsTask)},
		"a note on what is not read": {proposal.Note, root, func(s *shelf, r *queue.Stored) { s.Lay(store.On(task.Scheduled), root, store.Item{Bytes: []byte("{")}) }, string(proposal.NotItsTask)},
		"a close of what was moved by hand": {proposal.Close, root, func(s *shelf, r *queue.Stored) {
			s.Lay(store.On(task.Scheduled), root, store.Item{})
			s.Lay(store.On(task.Awaiting), root, store.Item{Bytes: r.File})
		}, string(proposal.NotLegal)},
		"a close of what was moved by hand to its end": {proposal.Close, root, func(s *shelf, r *queue.Stored) {
			s.Lay(store.On(task.Scheduled), root, store.Item{})
			s.Lay(store.On(task.Completed), root, store.Item{Bytes: r.File})
		}, string(proposal.NotLegal)},
	} {
		subject, other := asked(stored(1, task.Scheduled, time.Hour, time.Hour)), stored(3, task.Scheduled, time.Hour, time.Hour)
		one := chore(2, root, c.tool, c.subject)
		s := newShelf(t, subject, other, one)
		if c.lay != nil {
			c.lay(s, subject)
		}
		_, err := s.chores()
		if lines := s.lines(); err != nil || len(lines) != 1 || lines[0].Event != task.Dropped || lines[0].Change.Reason != c.why {
			t.Errorf("%s: %v, %+v", name, err, lines)
		}
	}
}

// TestChoresInTurns: a close comes first in its Update, for what it closes may be
// another of these; and neither many nor large ones are taken at once.
func TestChoresInTurns(t *testing.T) {
	root := asked(stored(1, task.Running, time.Hour, time.Hour))
	draft := chore(2, root.Task.ID, proposal.Draft, "")
	closes := chore(3, root.Task.ID, proposal.Close, draft.Task.ID)
	s := newShelf(t, root, closes, draft)
	more, err := s.chores()
	if !more || err != nil || s.find(draft.Task.ID).Task.Reason != "closed_by_agent" || s.find(closes.Task.ID).Task.State != task.Completed {
		t.Errorf("%t, %v, %+v", more, err, s.lines())
	}
	if more, err = s.chores(); more || err != nil || len(s.lines()) != 2 {
		t.Errorf("%t, %v, %+v", more, err, s.lines())
	}

	s = newShelf(t, root, draft, closes) // the draft is written, and can't be closed in the same Update
	if more, err = s.chores(); !more || err != nil || len(s.lines()) != 1 || s.lines()[0].Task != draft.Task.ID {
		t.Errorf("%t, %v, %+v", more, err, s.lines())
	}
	if more, err = s.chores(); !more || err != nil || s.find(closes.Task.ID).Task.Reason != string(proposal.NotLegal) {
		t.Errorf("%t, %v, %+v", more, err, s.lines())
	}

	many := []*queue.Stored{root}
	for i := range queue.MaxMoves + 1 {
		many = append(many, chore(10+i, root.Task.ID, proposal.Note, root.Task.ID))
	}
	s = newShelf(t, many...)
	for _, want := range []int{2 * queue.MaxMoves, 2 * (queue.MaxMoves + 1)} {
		if more, err = s.chores(); err != nil || more != (want == 2*queue.MaxMoves) || len(s.lines()) != want {
			t.Errorf("%t, %v, %d lines", more, err, len(s.lines()))
		}
	}

	large := []*queue.Stored{root}
	for i := range 6 {
		one := chore(10+i, root.Task.ID, proposal.Draft, "")
		one.Identity.Why = string(bytes.Repeat([]byte("x"), 1<<20))
		large = append(large, one)
	}
	s = newShelf(t, large...)
	for want := 2; want <= 6; want += 2 {
		if more, err = s.chores(); err != nil || !more || len(s.lines()) != want {
			t.Errorf("%t, %v, %d lines", more, err, len(s.lines()))
		}
	}
}

// TestChoresReadTurns: Next does not read once more what Chores has read, and does not start what
// was closed meanwhile.
func TestChoresReadTurns(t *testing.T) {
	for name, tool := range map[string]string{"nothing is closed": proposal.Draft, "it is closed": proposal.Close} {
		root := asked(stored(1, task.Running, time.Hour, time.Hour))
		work := effect(stored(2, task.Scheduled, 0, 0), root.Task.ID, `{"action":"read_public"}`)
		s := newShelf(t, root, work, chore(3, root.Task.ID, tool, work.Task.ID))
		run := queue.Run{Policy: policy.Default(), Effect: terms.ReadPublic, Max: 2, Now: func() time.Time { return now }}
		if err := s.update(func(tx *queue.Tx) error { _, err := run.Chores(tx, now); return err }); err != nil {
			t.Fatal(name, err)
		}
		s.failOn("Open")
		var claim *queue.Claim
		err := s.update(func(tx *queue.Tx) (err error) {
			claim, _, err = run.Next(tx, func(string) error { return nil })
			return err
		})
		if starts := claim != nil && claim.Task.ID == work.Task.ID; name == "nothing is closed" && (err != nil || !starts) || name == "it is closed" && claim != nil {
			t.Errorf("%s: %v, started: %t", name, err, starts)
		}
	}
}

// TestChoresLeave what is no effect on the queue, can't be read, is edited or put off;
// and while the queue is held or lacks lines, all of it.
func TestChoresLeave(t *testing.T) {
	root := asked(stored(1, task.Running, time.Hour, time.Hour))
	id := root.Task.ID
	for name, lay := range map[string]func(s *shelf, one *queue.Stored){
		"as it is": func(*shelf, *queue.Stored) {},
		"gone":     func(s *shelf, one *queue.Stored) { s.Lay(store.On(task.Scheduled), one.Task.ID, store.Item{}) },
		"not readable": func(s *shelf, one *queue.Stored) {
			s.Lay(store.On(task.Scheduled), one.Task.ID, store.Item{Bytes: []byte("{")})
		},
		"edited": func(s *shelf, one *queue.Stored) {
			s.Lay(store.On(task.Scheduled), one.Task.ID, store.Item{Bytes: append(one.File, '\n')})
		},
		"held":    func(s *shelf, _ *queue.Stored) { s.Lay(store.Hold, "", store.Item{Bytes: []byte{}}) },
		"put off": func(s *shelf, one *queue.Stored) { one.Task.NotBefore = now.Add(time.Second) },
		"for a worker": func(s *shelf, one *queue.Stored) {
			*one = *effect(stored(2, task.Scheduled, 0, 0), id, `{"action":"write_local","tool":"files.write"}`)
		},
		"an ask": func(s *shelf, one *queue.Stored) {
			*one = *stored(2, task.Scheduled, 0, 0)
			one.Request, one.Decision.Action = chore(2, id, proposal.Draft, "").Request, "write_local"
		},
	} {
		one := chore(2, id, proposal.Draft, "")
		if name == "put off" || name == "for a worker" || name == "an ask" {
			lay(nil, one)
			lay = func(*shelf, *queue.Stored) {}
		}
		s := newShelf(t, root, one)
		lay(s, one)
		if more, err := s.chores(); more || err != nil || (len(s.lines()) == 0) == (name == "as it is") {
			t.Errorf("%s: %t, %v, %+v", name, more, err, s.lines())
		}
	}
}
