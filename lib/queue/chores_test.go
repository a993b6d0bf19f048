package queue

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/identity"
	"pulse/lib/policy"
	"pulse/lib/proposal"
	"pulse/lib/record"
	"pulse/lib/request"
	"pulse/lib/task"
	"pulse/lib/terms"
)

// errBroken is what a store says that failed on the way.
var errBroken = errors.New("the store failed")

// failing is a shelf that fails at one step, so that nothing after it may be done.
type failing struct {
	*shelf
	step string // move, log, logged, keep
}

func (f *failing) at(step string) error {
	if f.step == step {
		return errBroken
	}
	return nil
}

func (f *failing) Held() (*audit.Line, error)                  { return nil, nil }
func (f *failing) Lost() (string, error)                       { return "", nil }
func (f *failing) Approval(string) (*approval.Approval, error) { return nil, nil }
func (f *failing) Keep(string, []byte) error                   { return f.at("keep") }
func (f *failing) Log(audit.Line) error                        { return f.at("log") }
func (f *failing) Logged(id string) (task.State, error) {
	return f.tasks[id].Task.State, f.at("logged")
}

func (f *failing) Entries(st task.State, fn func(Entry) (bool, error)) error {
	for _, id := range f.in(st) {
		s := f.tasks[id.String()]
		e := Entry{ID: id.String(), State: st, Digest: audit.Bare(s.Task.Digest), Action: s.Decision.Action, Kind: s.Task.Kind}
		if more, err := fn(e); err != nil || !more {
			return err
		}
	}
	return nil
}

// Move fails for what is not the effect itself.
func (f *failing) Move(l audit.Line) error {
	if l.Event != task.Carried {
		if err := f.at("move"); err != nil {
			return err
		}
	}
	return f.shelf.Move(l)
}

// TestChoresFail: an effect on the queue is completed only if what it wanted was done.
func TestChoresFail(t *testing.T) {
	for tool, steps := range map[string][]string{
		proposal.Close: {"", "move", "logged"}, proposal.Note: {"", "log"}, proposal.Draft: {"", "keep"},
	} {
		for _, step := range steps {
			subject := stored(1, task.Scheduled, time.Hour, time.Hour)
			chore := stored(2, task.Scheduled, time.Minute, time.Minute)
			chore.Task.Kind, chore.Decision.Action = task.Effect, terms.WriteLocal
			chore.Identity = identity.Identity{Trust: terms.System, Via: identity.ViaAgent, Root: subject.Task.ID}
			wish, err := request.Decode(record.Value(fmt.Sprintf(`{"action":"write_local","tool":%q,"args":{"task":%q}}`, tool, subject.Task.ID)))
			if err != nil {
				t.Fatal(err)
			}
			chore.Request = &wish
			f := &failing{newShelf(subject, chore), step}
			_, err = (&Run{Policy: policy.Default()}).Chores(f, now)
			got, moved := f.tasks[chore.Task.ID].Task, f.tasks[subject.Task.ID].Task.State != task.Scheduled
			if step == "" {
				if err != nil || got.State != task.Completed || moved != (tool == proposal.Close) {
					t.Errorf("%s: %v, it is %s (%s)", tool, err, got.State, got.Reason)
				}
			} else if !errors.Is(err, errBroken) || got.State != task.Scheduled {
				t.Errorf("%s, when %s fails: %v, it is %s", tool, step, err, got.State)
			}
		}
	}
}
