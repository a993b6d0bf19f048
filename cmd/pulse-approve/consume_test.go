package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// consumer is pulse-approve consume; task is given as a worker has it.
func (d *world) consumer(target, task string) *exec.Cmd {
	cmd := d.command("pulse-approve", "consume", target)
	cmd.Env = append(cmd.Env, "PULSE_TASK="+task)
	return cmd
}

// TestBoundGrantIsSpentByItsTask: of fifty that want a grant at once, one of those
// that have its task gets it.
func TestBoundGrantIsSpentByItsTask(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	if status, screen := d.answer(right, "grant", "bob@partner.example", "--task", id); status != 0 {
		t.Fatalf("exit %d\n%s", status, screen)
	}
	type end struct {
		mine   bool
		status int
	}
	ends := make(chan end)
	for i := range 50 {
		task := []string{id, "", strings.Repeat("0", 32), id[:31] + "x"}[i%4]
		cmd := d.consumer("bob@partner.example", task)
		go func() {
			cmd.Run()
			ends <- end{task == id, cmd.ProcessState.ExitCode()}
		}()
	}
	count := map[end]int{}
	for range 50 {
		count[<-ends]++
	}
	if count[end{true, 0}] != 1 || count[end{true, 77}] != 12 || count[end{false, 77}] != 37 {
		t.Errorf("%v", count)
	}
	if n := strings.Count(d.must("", "pulse-queue", "log", "--event", "consumed", "--json"), "\n"); n != 1 {
		t.Errorf("%d lines say that it was spent", n)
	}
	d.must("", "pulse-queue", "verify")
}

// TestSpendingOrder: the grant that says most is spent first, as the log tells.
func TestSpendingOrder(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	order := [][]string{{"bob@partner.example", "--task", id}, {"bob@partner.example"}, {"--any", "--task", id}, {"--any"}}
	for _, i := range []int{3, 1, 2, 0} {
		if status, screen := d.answer(right, append([]string{"grant"}, order[i]...)...); status != 0 {
			t.Fatalf("exit %d\n%s", status, screen)
		}
	}
	for i, want := range []string{`"target":"bob@partner.example","any":false,"task"`, `"target":"bob@partner.example","any":false,"by"`, `"any":true,"task"`, `"any":true,"by"`} {
		if out, err := d.consumer("BOB@partner.example", id).CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%v: %s", err, out)
		}
		lines := strings.Split(strings.TrimSpace(d.must("", "pulse-queue", "log", "--event", "consumed", "--json")), "\n")
		if len(lines) != i+1 || !strings.Contains(lines[i], want) {
			t.Errorf("the grant number %d was not %s:\n%s", i, want, lines[len(lines)-1])
		}
	}
}

// TestRefusalTellsNothing: who is refused learns why, and neither screen nor log
// nor error repeats what was asked for.
func TestRefusalTellsNothing(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	before := d.must("", "sh", "-c", "cat q/audit/*")
	const secret = "payload\x1b[2J@secret.example"
	if status, screen := d.answer(right, "grant", "--any", "--task", id); status != 0 {
		t.Fatalf("exit %d\n%s", status, screen)
	}
	for task, why := range map[string]string{"": "bound to another task", strings.Repeat("f", 32): "bound to another task"} {
		var complaint bytes.Buffer
		cmd := d.consumer(secret, task)
		cmd.Stderr = &complaint
		out, _ := cmd.Output()
		text := fmt.Sprintf("%s%s", out, &complaint)
		if cmd.ProcessState.ExitCode() != 77 || len(out) > 0 || !strings.Contains(text, why) || !strings.Contains(text, "no grant") {
			t.Errorf("exit %d: %s", cmd.ProcessState.ExitCode(), text)
		}
		for _, part := range []string{"payload", "secret", "\x1b", id} {
			if strings.Contains(text, part) {
				t.Errorf("%q repeats %q", text, part)
			}
		}
	}
	after := d.must("", "sh", "-c", "cat q/audit/*")
	if !strings.HasPrefix(after, before) || strings.Contains(after, "payload") || strings.Count(after, "\n") != strings.Count(before, "\n")+3 { // the grant, and that it was withheld twice
		t.Errorf("the log grew by\n%s", strings.TrimPrefix(after, before))
	}
}
