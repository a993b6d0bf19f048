package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// world is a queue with one task that has ended.
type world struct {
	t       *testing.T
	dir, id string
}

func newDesk(t *testing.T) *world {
	t.Helper()
	d := &world{t: t, dir: t.TempDir()}
	if err := os.Chmod(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d.must("pulse-queue", "init")
	var receipt struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(d.must("pulse-queue", "submit", "--action", "read_public", "hi")), &receipt); err != nil {
		t.Fatal(err)
	}
	d.id = receipt.Task.ID
	policy := filepath.Join(d.dir, "policy.toml")
	if err := os.WriteFile(policy, []byte(`owners = ["me@example.com"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	d.must("pulse-queue", "run", "--policy", policy, "--", "true")
	return d
}

func (d *world) command(name string, args ...string) *exec.Cmd {
	d.t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), "PULSE_QUEUE="+filepath.Join(d.dir, "q"))
	return cmd
}

func (d *world) must(name string, args ...string) string {
	d.t.Helper()
	out, err := d.command(name, args...).Output()
	if err != nil {
		d.t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

// requeue asks for the task to be put back, and answers once the code is shown.
func (d *world) requeue(answer func(code string) string) (status int, screen string) {
	d.t.Helper()
	p, err := cmdlinetest.Sit(d.command("pulse-queue", "requeue", d.id))
	if err != nil {
		d.t.Fatal(err)
	}
	defer p.Leave()
	code, err := p.Code()
	if err == nil {
		err = p.Type(answer(code))
	}
	if err != nil {
		d.t.Fatal(err)
	}
	status, out := p.Wait()
	return status, string(out)
}

func (d *world) log() string { return d.must("sh", "-c", "cat q/audit/*; ls q/*") }

func right(code string) string { return code + "\n" }

// TestRequeueCautions: what was done will be done again, and the last line before
// the code says so.
func TestRequeueCautions(t *testing.T) {
	d := newDesk(t)
	status, screen := d.requeue(right)
	if status != 0 || !strings.Contains(screen, "caution  it was done before, and will be done again") ||
		!strings.Contains(screen, "digest   sha256:") || !strings.Contains(screen, "  | hi") {
		t.Errorf("exit %d:\n%s", status, screen)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "q/scheduled", d.id+".json")); err != nil {
		t.Error(err)
	}
}

func TestRequeueAnythingElseIsNo(t *testing.T) {
	d := newDesk(t)
	before := d.log()
	for name, answer := range map[string]func(string) string{
		"empty":        func(string) string { return "\n" },
		"yes":          func(string) string { return "yes\n" },
		"part of it":   func(c string) string { return c[:3] + "\n" },
		"end of input": func(string) string { return "\x04" },
	} {
		if status, _ := d.requeue(answer); status != 77 || d.log() != before {
			t.Errorf("%s: exit %d, then\n%s", name, status, d.log())
		}
	}
}

// TestRequeueWhatWasShown: the yes is for the task as it was on the screen.
func TestRequeueWhatWasShown(t *testing.T) {
	for name, change := range map[string]func(d *world){
		"requeued by somebody else": func(d *world) { d.requeue(right) },
		"pruned":                    func(d *world) { d.must("pulse-queue", "prune", "--older-than", "0") },
		"edited": func(d *world) {
			d.must("sh", "-c", `f=q/completed/*.json; sed s/hi/HI/ $f >x && cat x >$(ls $f)`)
		},
	} {
		d := newDesk(t)
		var then string
		status, screen := d.requeue(func(code string) string {
			change(d)
			then = d.log()
			return right(code)
		})
		if status != 77 || d.log() != then {
			t.Errorf("%s: exit %d:\n%s", name, status, screen)
		}
	}
}
