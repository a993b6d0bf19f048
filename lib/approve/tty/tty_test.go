package tty_test

import (
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

const (
	codePrompt = `\r\ncode: ([a-z0-9]{4})\r\ntype the code to go on, anything else not to: $`
	pagePrompt = `page (\d+ of \d+) \[Enter,b,G,q,\?\]: $`
)

// TestCodeIsFresh: each question has a code of its own, of letters and digits that
// can't be taken for others.
func TestCodeIsFresh(t *testing.T) {
	const questions = 60
	s := sit(t, 24, 80, "", "codes", strings.Repeat("x", questions))
	seen := map[string]bool{}
	last := "none"
	for range questions {
		code := s.sees(codePrompt)
		if strings.Trim(code, "abcdefghjkmnpqrstuvwxyz23456789") != "" || code == last {
			t.Errorf("the code is %q, after %q", code, last)
		}
		seen[code] = true
		if err := s.Answer(last); err != nil { // the code of the question before
			t.Fatal(err)
		}
		last = code
	}
	s.ends(refused)
	if len(seen) < questions-2 { // two codes are equal once in a thousand runs
		t.Errorf("%d codes for %d questions", len(seen), questions)
	}
}

// TestAnswers: only the code in a line of its own means yes.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(code string) string
		status int
	}{
		"the code":               {func(c string) string { return c + "\n" }, yes},
		"with a carriage return": {func(c string) string { return c + "\r" }, yes},
		"with blanks around":     {func(c string) string { return " " + c + "\t\n" }, yes},
		"corrected":              {func(c string) string { return "ab\x7f\x7f" + c + "\n" }, yes},
		"typed anew":             {func(c string) string { return "abcdef\x15" + c + "\n" }, yes},
		"nothing":                {func(string) string { return "\n" }, refused},
		"yes":                    {func(string) string { return "yes\n" }, refused},
		"part of it":             {func(c string) string { return c[:3] + "\n" }, refused},
		"twice":                  {func(c string) string { return c + c + "\n" }, refused},
		"with a blank inside":    {func(c string) string { return c[:2] + " " + c[2:] + "\n" }, refused},
		"in capitals":            {func(c string) string { return strings.ToUpper(c) + "A\n" }, refused},
		"in other letters":       {func(c string) string { return c[:3] + "\u0430\n" }, refused},
		"in the second line":     {func(c string) string { return "\n" + c + "\n" }, refused},
		"another code":           {func(string) string { return "0000\n" }, refused},
		"a sequence":             {func(c string) string { return "\x1b[A" + c + "\n" }, refused},
		"more than a line holds": {func(string) string { return strings.Repeat("x", 5000) + "\n" }, refused},
		"the end":                {func(string) string { return "\x04" }, ended},
		"the code and the end":   {func(c string) string { return c + "\x04\x04" }, ended},
		"an interrupt":           {func(c string) string { return c + "\x03" }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			s := sit(t, 24, 80, "", "codes", "x")
			s.types(c.answer(s.sees(codePrompt)))
			s.ends(c.status)
		})
	}
}

// TestSignals: a signal that ends the context ends the question, and is not an answer.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		s := sit(t, 24, 80, "", "codes", "x")
		code := s.sees(codePrompt)
		s.types(code) // without Enter
		s.sees(code + `$`)
		s.cmd.Process.Signal(sig)
		if out := s.ends(ended); !strings.HasSuffix(out, "\r\nend: 3\r\n") {
			t.Errorf("%v: %q", sig, out)
		}
	}
	s := sit(t, 24, 80, "", "codes", "x")
	s.sees(codePrompt)
	s.cmd.Process.Kill()
	s.ends(-1)
}

// TestHangUp: a terminal that goes away in the middle of a question is not an answer.
func TestHangUp(t *testing.T) {
	s := sit(t, 24, 80, "", "codes", "x")
	s.types(s.sees(codePrompt))
	s.Leave()
	s.cmd.Wait()
	if status := s.cmd.ProcessState.ExitCode(); status == yes {
		t.Error("it was a yes")
	}
}

// TestTypedAhead: what was typed before the prompt, whole lines and the beginning of
// one, is thrown away, and does not spoil what is typed then.
func TestTypedAhead(t *testing.T) {
	for _, typed := range []string{"yes\n", "y\n\n\nabcd\n", "ab", "no\nab", "\x04", strings.Repeat("x\n", 500)} {
		s := sit(t, 24, 80, typed, "codes", "x")
		s.types(s.sees(codePrompt) + "\n")
		s.ends(yes)
	}
	// Between two questions.
	s := sit(t, 24, 80, "", "codes", "xxx")
	first := s.sees(codePrompt)
	s.types("no\n" + first + "\nyes\n\nab")
	s.sees(`(?s)code: ` + first + `.*` + codePrompt)
	s.types(s.sees(codePrompt) + "\n")
	s.ends(yes)
	// While it was busy.
	s = sit(t, 24, 80, "", "late")
	s.sees(`ready\r\n$`)
	s.types("yes\nab")
	s.sees(`yes\r\nab$`) // the driver has it
	s.stdin.Close()
	s.types(s.sees(codePrompt) + "\n")
	s.ends(yes)
}

// TestInjected: TIOCSTI, the ioctl that types into a terminal. What another process
// of the session typed before the prompt is thrown away; what it types blindly later
// is a refusal. A process that can both read the screen and type passes for a person:
// the level terminal proves no more than that.
func TestInjected(t *testing.T) {
	able(t)
	s := sit(t, 24, 80, "", "attacked", "yes\nab")
	s.types(s.sees(codePrompt) + "\n")
	s.ends(yes)

	for _, c := range []struct {
		keys   func(code string) string
		status int
	}{
		{func(string) string { return "yes\n" }, refused},
		{func(string) string { return "\n" }, refused},
		{func(string) string { return "aaaa\n" }, refused},
		{func(string) string { return "\x04" }, ended},
		{func(code string) string { return code + "\n" }, yes},
	} {
		s := sit(t, 24, 80, "", "codes", "x")
		keys := c.keys(s.sees(codePrompt))
		f := s.other()
		if err := inject(f, keys); err != nil {
			t.Fatal(err)
		}
		f.Close()
		s.ends(c.status)
	}
}

// TestNotOurs: neither a terminal that is not the controlling one nor a file that is not
// a terminal counts.
func TestNotOurs(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	cmd := exec.Command("/proc/self/exe", "open")
	cmd.Stdin, cmd.Stderr = tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out, err := cmd.Output(); err == nil || cmd.ProcessState.ExitCode() != noTerminal {
		t.Errorf("%v: %s", err, out)
	}
}

// TestSize: a terminal that does not tell its size has 24 rows of 80 columns.
func TestSize(t *testing.T) {
	for size, want := range map[[2]uint16]string{
		{0, 0}: "24 80", {0, 132}: "24 132", {50, 0}: "50 80", {1, 1}: "1 1", {65535, 65535}: "65535 65535",
	} {
		s := sit(t, size[0], size[1], "", "size")
		if out := s.ends(yes); !strings.HasPrefix(out, want+"\r\n") {
			t.Errorf("%v: %q, want %s", size, out, want)
		}
	}
}

// TestPages: a text is shown whole before it ends, in every size of terminal.
func TestPages(t *testing.T) {
	for _, size := range [][2]uint16{{24, 80}, {0, 0}, {1, 1}, {5, 16}, {2, 65535}, {65535, 2}} {
		s := sit(t, size[0], size[1], "", "show", "60", "whole")
		for s.sees(`(?:`+pagePrompt+`|(end: \d)\r\n$)`) != "end: 0" {
			if err := s.Answer(""); err != nil {
				t.Fatal(err)
			}
		}
		out := s.ends(yes)
		if got := strings.Join(regexp.MustCompile(`line \d+\r`).FindAllString(out, -1), ""); strings.Count(got, "\r") != 60 || !strings.HasSuffix(got, "line 60\r") {
			t.Errorf("%v: %q", size, out)
		}
	}
}

// TestKeys: the keys of the pager do what its help says.
func TestKeys(t *testing.T) {
	s := sit(t, 24, 80, "", "show", "100", "whole")
	turn := func(key, want string) {
		t.Helper()
		if err := s.Answer(key); err != nil {
			t.Fatal(err)
		}
		if got := s.sees(pagePrompt); got != want {
			t.Errorf("after %q: page %s, want %s", key, got, want)
		}
	}
	if got := s.sees(pagePrompt); got != "1 of 5" {
		t.Fatal(got)
	}
	turn("b", "1 of 5")
	turn("?", "1 of 5")
	turn("yes", "1 of 5")
	turn("", "2 of 5")
	turn("G", "5 of 5") // pages were skipped, and whole was wanted
	turn("b", "4 of 5")
	turn("G", "5 of 5")
	turn("", "3 of 5")
	turn("b", "2 of 5")
	s.types("q\n")
	out := s.ends(quit)
	for _, want := range []string{"Enter  the next page", "pages 3 to 4 were skipped: no answer before they were shown", "page 3 was skipped: no"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	// A person who may skip pages reaches the end at once.
	s = sit(t, 24, 80, "", "show", "100", "some")
	s.sees(pagePrompt)
	s.types("G\n")
	s.ends(yes)
}

// TestPagerEnds: the end of input, a signal and a hangup end the pager too, and
// typed-ahead lines turn no page.
func TestPagerEnds(t *testing.T) {
	s := sit(t, 24, 80, "\n\n\n\n\n\n\n", "show", "100", "whole")
	if got := s.sees(pagePrompt); got != "1 of 5" {
		t.Errorf("page %s", got)
	}
	s.types("\n\n\n\n\n")
	if got := s.sees(`page (2 of \d) .*: $`); got != "2 of 5" {
		t.Errorf("page %s", got)
	}
	s.types("\x04")
	s.ends(ended)
	s = sit(t, 24, 80, "", "show", "100", "whole")
	s.sees(pagePrompt)
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.ends(ended)
	s = sit(t, 24, 80, "", "show", "100", "whole")
	s.sees(pagePrompt)
	s.Leave()
	s.cmd.Wait()
	if s.cmd.ProcessState.ExitCode() == yes {
		t.Error("it came to the end")
	}
}

// TestLine: what is typed comes back as it is, without blanks around it.
func TestLine(t *testing.T) {
	s := sit(t, 24, 80, "", "ask")
	s.sees(`which\? $`)
	s.types("  a b\x1b[2J \t\n")
	if out := s.ends(yes); !strings.Contains(out, `"a b\x1b[2J"`) {
		t.Errorf("%q", out)
	}
}

// TestStopped: what is typed to a stopped process is not an answer, not even the code.
// When it continues, everything is shown again, with another code.
func TestStopped(t *testing.T) {
	for _, typed := range []string{"", "CODE\n", "CO", "\x04", "\n\nno\n"} {
		s := sit(t, 24, 80, "", "sure", "3")
		first := s.sees(`^(?:a line\r\n){3}` + codePrompt)
		s.stops()
		s.types(strings.ReplaceAll(strings.ReplaceAll(typed, "CODE", first), "CO", first[:2]))
		s.goesOn()
		second := s.sees(`(?s)nothing was changed, and here is all of it again\r\n(?:a line\r\n){3}` + codePrompt)
		if second == first {
			t.Errorf("%q: the same code", typed)
		}
		s.types(second + "\n")
		s.ends(yes)
	}
	// The code from before it was stopped does not count.
	s := sit(t, 24, 80, "", "sure", "3")
	first := s.sees(codePrompt)
	s.stops()
	s.goesOn()
	s.sees(`again\r\n(?:a line\r\n){3}` + codePrompt)
	s.types(first + "\n")
	s.ends(refused)
	// Between pages: those before have to be shown again.
	s = sit(t, 24, 80, "", "sure", "60")
	s.sees(pagePrompt)
	s.types("\n")
	if got := s.sees(`page (2 of \d) .*: $`); got != "2 of 3" {
		t.Fatal(got)
	}
	s.stops()
	s.types("G\n")
	s.goesOn()
	if got := s.sees(`(?s)all of it again\r\n.*page (1 of \d) .*: $`); got != "1 of 3" {
		t.Errorf("page %s", got)
	}
	s.types("G\n")
	s.sees(`page 2 was skipped: no answer before they were shown\r\npage (3 of 3) .*: $`)
	s.types("q\n")
	s.ends(quit)
}
