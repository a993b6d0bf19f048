package dispatch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/files"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// unsaved is a door's store of which a run uses the queue alone.
type unsaved struct {
	door.Store
	m *queuetest.Memory
}

func (s unsaved) View(fn func(store.View) error) error { return s.m.View(fn) }
func (s unsaved) Update(fn func(store.View) (*store.Commit, error)) error {
	return s.m.Update(fn)
}

// TestAbandonedFirst: as long as what a dead run changed can't be noted, its task is not put back.
func TestAbandonedFirst(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ws, err := filepath.EvalSymlinks(t.TempDir())
	p, bad := policy.Parse("policy", []byte("[exec]\nworkspace = \""+ws+"\"\n"))
	wants, unread := request.Decode(`{"action":"read_public","args":{"text":"x"}}`)
	m := queuetest.NewMemory()
	dead, failed := m.Put(queue.Stored{
		Task: task.Task{ID: task.ThingID("test", "dead"), Kind: task.Ask, State: task.Running, Created: time.Now(), Change: task.Change{Since: time.Now()}},
		Content: queue.Content{
			Identity: identity.Identity{Sender: "friend@example.com", Trust: terms.ExternalVerified},
			Decision: decision.Decision{Action: terms.ReadPublic, Outcome: terms.Allow},
			Request:  &wants,
		},
	})
	if err := errors.Join(err, bad, unread, failed, os.WriteFile(ws+"/orphan", []byte("text"), 0o600)); err != nil {
		t.Fatal(err)
	}
	q := unsaved{m: m}
	sh := &shift{store: q, todo: &store.Passing{Store: q}, policy: p, queue: t.TempDir()}
	sh.run = queue.Run{Policy: p, Now: time.Now}
	sh.runs = runner.NewFlat(runner.Dir(t.TempDir()), func(string) string { return "" })
	full, fails := errors.New("the disk is full"), 1
	m.Fail = func(step string) error {
		if step != string(audit.Labelled) || fails == 0 {
			return nil
		}
		fails--
		return full
	}
	for _, want := range []task.State{task.Running, task.Scheduled} {
		err := sh.prepare()
		if errors.Is(err, full) != (want == task.Running) {
			t.Errorf("%s: %v", want, err)
		}
		var is task.State
		var from queue.Origin
		err = q.View(func(v store.View) (err error) {
			if is, err = v.Where(dead.Task.ID); err == nil {
				from, err = queue.OriginOf(v, []string{files.Path(ws + "/orphan")})
			}
			return err
		})
		if err != nil || is != want || from.Lost != (want == task.Scheduled) {
			t.Errorf("%s, want %s: %+v, %v", is, want, from, err)
		}
	}
}

// TestKnown: the directories of all command lines of a queue are known to each, and where they can't be
// read that is said, and none is forgotten.
func TestKnown(t *testing.T) {
	state, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	both := []string{one, two}
	slices.Sort(both)
	for _, c := range []struct{ mine, want []string }{
		{[]string{""}, nil}, {[]string{one}, []string{one}}, {[]string{"", two}, both}, {nil, both},
	} {
		if got, err := known("q", c.mine); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v, want %q", c.mine, got, err, c.want)
		}
	}
	kept, err := filepath.Glob(state + "/pulse/kept/*")
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	if err := os.Chmod(kept[0], 0o666); err != nil { // as anybody may have written it
		t.Fatal(err)
	}
	before, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	if got, err := known("q", []string{one}); err == nil {
		t.Errorf("not read, and known: %q", got)
	}
	if after, err := os.ReadFile(kept[0]); err != nil || string(after) != string(before) {
		t.Errorf("%q, %v, want %q", after, err, before)
	}
}
