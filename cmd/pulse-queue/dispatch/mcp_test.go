package dispatch

import (
	"errors"
	"testing"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/store"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// beside is a store in which something else happens just before the next View.
type beside struct {
	unsaved
	happens func()
}

func (s *beside) View(fn func(store.View) error) error {
	if what := s.happens; what != nil {
		s.happens = nil
		what()
	}
	return s.unsaved.View(fn)
}

// TestEndsBetween: a session that finds its ask in use starts it, also if the other session ends
// before this one asks why it did not.
func TestEndsBetween(t *testing.T) {
	p, bad := policy.Parse("policy", []byte("owners = [\"me@example.com\"]\n"))
	wants, unread := request.Decode(`{"action":"read_public","args":{"text":"x","standing":"home"}}`)
	m := queuetest.NewMemory()
	_, failed := m.Put(queue.Stored{
		Task: task.Task{
			ID: task.ThingID("test", "home"), Kind: task.Ask, State: task.Scheduled, Created: time.Now(),
			Change: task.Change{Since: time.Now(), NotBefore: store.Forever},
		},
		Content: queue.Content{
			Identity: identity.Identity{Sender: "me@example.com", Trust: terms.OwnerVerifiedEmail, Verified: true, Via: identity.ViaSubmit},
			Decision: decision.Decision{Action: terms.ReadPublic, Outcome: terms.Allow},
			Request:  &wants,
		},
	})
	if err := errors.Join(bad, unread, failed); err != nil {
		t.Fatal(err)
	}
	q := &beside{unsaved: unsaved{m: m}}
	sh := &shift{store: q, todo: &store.Passing{Store: q}, policy: p}
	sh.run = queue.Run{Policy: p, Standing: "home", Max: 9, Now: time.Now}
	sh.runs = runner.NewFlat(runner.Dir(t.TempDir()), func(string) string { return "" })
	other, hold, err := sh.claim()
	if err != nil || other == nil {
		t.Fatalf("%v, %v", other, err)
	}
	q.happens = func() {
		err := queue.InTurns(sh.todo, func(tx *queue.Tx) (bool, error) {
			_, err := queue.Finish(tx, other, queue.End{Proposals: &queue.Proposals{}, Unread: true}, &p.Limits, time.Now())
			return false, err
		})
		hold.Drop()
		if err != nil {
			t.Error(err)
		}
	}
	claim, hold, err := sh.claimed(t.Context())
	if err != nil || claim == nil {
		t.Fatalf("%v, %v", claim, err)
	}
	hold.Drop()
}
