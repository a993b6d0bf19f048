package main

import (
	"strings"
	"syscall"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// job runs pulse-approve as the job of a shell, which takes it back once it was
// stopped and the person has typed a line.
func (d *world) job(args ...string) *seat {
	d.t.Helper()
	shell := `set -m; pulse-approve "$@"; echo stopped; read -r line; echo "read $line"; fg >/dev/null`
	p, err := cmdlinetest.Sit(d.command("bash", append([]string{"-c", shell, "bash"}, args...)...))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(p.Leave)
	return &seat{d.t, p}
}

func (s *seat) keys(keys string) {
	s.t.Helper()
	if err := s.p.Type(keys); err != nil {
		s.t.Fatal(err)
	}
}

// TestStoppedAtTheCode: after ^Z and fg the screen is shown again, with another code;
// the one of before, which anybody could read meanwhile, is good for nothing.
func TestStoppedAtTheCode(t *testing.T) {
	for _, again := range []bool{true, false} {
		d := newDesk(t)
		id := d.add(proposal)
		s := d.job("yes", id)
		first := s.sees(`task +` + id + `[^$]*` + codePrompt)
		s.keys("\x1a")
		s.sees(`stopped\r\n$`)
		s.keys("to the shell\n")
		s.sees(`read to the shell`)
		second := s.sees(`all of it again\r\nsender (?s:.*?)\r\ntask +` + id + `[^$]*` + codePrompt)
		answer, status, state := second, 0, "scheduled"
		if !again {
			answer, status, state = first, 77, "awaiting_review"
		}
		s.keys(answer + "\n")
		s.ends(status)
		if got := d.show(id); first == second || got.State != state {
			t.Errorf("codes %s and %s, %+v", first, second, got)
		}
	}
}

// TestStoppedInTheWalk: wherever it was stopped, the task is shown again before a key
// is taken.
func TestStoppedInTheWalk(t *testing.T) {
	for _, at := range []string{"", "y", "n"} {
		d := newDesk(t)
		id := d.add(proposal)
		s := d.job()
		s.sees(keysPrompt)
		switch at {
		case "y":
			s.types("y")
			s.sees(codePrompt)
		case "n":
			s.types("n")
			s.sees(reasonPrompt)
		}
		s.keys("\x1a")
		s.sees(`stopped\r\n$`)
		s.keys("x\n")
		s.sees(`all of it again\r\n[^$]*digest[^$]*` + keysPrompt)
		s.types("y")
		s.keys(s.sees(codePrompt) + "\n")
		screen := s.ends(0)
		if got := d.show(id); got.State != "scheduled" || !strings.Contains(screen, "1 approved, 0 refused, 0 left") {
			t.Errorf("stopped after %q: %+v\n%s", at, got, screen)
		}
	}
}

// TestQuitIsNo: ^\ ends a question as ^C does, without a trace of the program.
func TestQuitIsNo(t *testing.T) {
	for _, args := range [][]string{{"yes"}, nil} {
		d := newDesk(t)
		id := d.add(proposal)
		if args != nil {
			args = append(args, id)
		}
		cmd := d.command("pulse-approve", args...)
		p, err := cmdlinetest.Sit(cmd)
		if err != nil {
			t.Fatal(err)
		}
		d.t.Cleanup(p.Leave)
		s := &seat{t, p}
		s.sees(`: $`)
		s.keys("\x1c")
		screen := s.ends(-1)
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if status.Signal() != syscall.SIGQUIT || strings.Contains(screen, "goroutine") || d.show(id).State != "awaiting_review" {
			t.Errorf("%v: %v\n%s", args, cmd.ProcessState, screen)
		}
	}
}
