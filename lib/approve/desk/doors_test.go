package desk_test

import (
	"os/exec"
	"strings"
	"testing"
)

// door is a way by which a person's yes comes into the queue. What is tried against one
// is tried against all.
type door string

const (
	atDesk      door = "at the desk"    // at a terminal, where the key is
	bySignature door = "by --signature" // signed elsewhere, brought for one task
	byTake      door = "by take"        // signed elsewhere, found in a file
)

// byEachDoor runs a suite once for each door.
func byEachDoor(t *testing.T, suite func(*testing.T, door)) {
	for _, way := range []door{atDesk, bySignature, byTake} {
		t.Run(strings.TrimPrefix(string(way), "by "), func(t *testing.T) { suite(t, way) })
	}
}

// through lets the person of a gate say yes by a door.
func (w *world) through(way door) *world {
	w.way = way
	return w
}

// through is that of world; elsewhere than at the desk a key has to count.
func (w *three) through(way door) *three {
	w.way = way
	if way != atDesk {
		w.keyed("user")
	}
	return w
}

// say says a yes by the gate's door: the words are those of pulse-approve at the desk.
func (w *world) say(key string, words ...string) (status int, out string) {
	w.t.Helper()
	if w.way == atDesk {
		return w.answer(nil, "pulse-approve", append(words, "--key", w.path("keys/"+key))...)
	}
	return w.brought(func(name string, args ...string) *exec.Cmd { return w.command(intake, name, args...) }, key, words...)
}

// bring is say for an account of three that brings what was signed elsewhere.
func (w *three) bring(by account, key string, words ...string) (status int, out string) {
	w.t.Helper()
	return w.brought(func(name string, args ...string) *exec.Cmd { return w.by(by, name, args...) }, key, words...)
}

// brought has the words' statement signed where the key is, and brings the answer.
func (w *world) brought(command func(string, ...string) *exec.Cmd, key string, words ...string) (status int, out string) {
	w.t.Helper()
	asked := append([]string{"statement"}, words[1:]...)
	if words[0] == "session" || words[0] == "grant" && words[1] != "--any" {
		asked[0] = "--" + words[0]
		asked = append([]string{"statement"}, asked...)
	}
	ask := command("pulse-approve", asked...)
	text, err := ask.Output()
	if err != nil {
		return ask.ProcessState.ExitCode(), err.Error()
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	line := lines[len(lines)-1] + "\n"
	armor := w.signs(key, line)
	switch {
	case w.way == byTake:
		w.write("state/answer", line+armor)
		out, status = w.finish(command("pulse-approve", "take", w.path("state/answer")), "")
	case words[0] == "yes": // whose line is made again
		out, status = w.finish(command("pulse-approve", "yes", words[1], "--signature", "-"), armor)
	default:
		out, status = w.finish(command("pulse-approve", words[0], "--signature", "-"), line+armor)
	}
	return status, out
}
