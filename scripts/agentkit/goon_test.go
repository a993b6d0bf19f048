package agentkit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/spool"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/task"
)

// once is a command that a person is asked about, and prints what the agent is to learn.
const once = "echo once >>ran; echo RESULT-$((4700 + 11))"

// execs has how each client starts a command.
var execs = map[string]call{
	"claude": {Name: "Bash", Args: map[string]any{"command": once, "description": "x"}},
	"codex":  {Name: "functions/exec", Raw: "text(await tools.exec_command({cmd: " + string(encode(once)) + "}))"},
	"gemini": {Name: "run_shell_command", Args: map[string]any{"command": once}},
}

// TestGoesOn: a command that was put to a person is carried out once after a yes, and the client
// goes on in its own session and is told what it printed.
func TestGoesOn(t *testing.T) {
	for name := range workers {
		if testing.Short() && name != "claude" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShift(t, name, "Do it, CODEWORD.")
			s.calls = []call{execs[name]}
			end, judged := s.works(t)
			if end.Event != "finished" || end.Reason != queue.ReasonPaused {
				t.Fatalf("%+v, %+v", end, judged)
			}
			s.yes(t)
			said := s.carries(t)
			if ran, err := os.ReadFile(s.inside + "/ran"); err != nil || string(ran) != "once\n" {
				t.Fatalf("it ran %q, %v: %s%s", ran, err, said, s.queue(t, "log", "--json"))
			}
			s.seen.Reset()
			if end, _ = s.works(t); end.Event != "finished" || end.Reason != queue.ReasonDone {
				t.Errorf("%+v", end)
			}
			for _, want := range []string{"RESULT-4711", "It was put to a person", "CODEWORD"} {
				if !strings.Contains(s.seen.String(), want) {
					t.Errorf("the model was not told %q: %s", want, &s.seen)
				}
			}
			if ran, _ := os.ReadFile(s.inside + "/ran"); string(ran) != "once\n" {
				t.Errorf("it ran %q", ran)
			}
			if left, err := os.ReadDir(s.home + "/pulse/kept"); err != nil || len(left) > 0 {
				t.Errorf("%v is kept, %v", left, err)
			}
			s.queue(t, "verify")
		})
	}
}

// carries carries out what was approved, by the account of the worker: a box does not hold root.
func (s *shift) carries(t *testing.T) string {
	t.Helper()
	args := []string{"run", "--effect", "code_or_computer"}
	if u := account(t); u != nil {
		must(t, errors.Join(os.Chmod(s.home, 0o755), os.Chmod(s.home+"/policy.toml", 0o644)))
		args = append(args, "--as", u.Username)
	} else if os.Geteuid() == 0 {
		t.Skip("a box does not hold root")
	}
	return s.queue(t, append(args, "--", filepath.Dir(authorize)+"/pulse-queue", "carry", "--policy", s.home+"/policy.toml")...)
}

// yes takes what the agent proposes, and says yes to what waits.
func (s *shift) yes(t *testing.T) {
	t.Helper()
	dir := filepath.Dir(authorize)
	s.run(t, fmt.Sprintf("'%s'/pulse-queue outbox | '%s' | '%s'/pulse-queue add", dir, authorize, dir), "PULSE_QUEUE="+s.home+"/queue", "XDG_STATE_HOME="+s.home)
	store, err := spool.Open(s.home + "/queue")
	must(t, err)
	n := 0
	must(t, queue.Update(store, func(tx *queue.Tx) error {
		return tx.Each(queue.On(task.Awaiting), func(id string, _ time.Time) (bool, error) {
			shown, err := queue.Load(tx, task.Awaiting, id)
			if err != nil {
				return false, err
			}
			n++
			now := time.Now()
			return true, queue.Approve(tx, &shown, queue.Yes(&shown, "me", approval.Terminal, now), now)
		})
	}))
	if n != 1 {
		t.Fatalf("%d wait: %s", n, s.queue(t, "list"))
	}
}
