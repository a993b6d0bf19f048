package cmd_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shell runs a command line where there is nothing to find, and returns what it printed and its
// status.
func shell(t *testing.T, dir, line string) (said string, status int) {
	t.Helper()
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + dir, "XDG_STATE_HOME=" + dir}
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// TestClosedOutput: no command of pulse begins when standard output is closed. Go's runtime opens
// /dev/null in its place, so that each of them ended with 0 and its answer was lost.
func TestClosedOutput(t *testing.T) {
	dir, n := t.TempDir(), 0
	for _, program := range []string{"pulse-fetch", "pulse-classify", "pulse-authorize", "pulse-queue", "pulse-approve"} {
		help, _ := shell(t, dir, program+" --help")
		_, list, _ := strings.Cut(help, "\nCommands:\n")
		list, _, _ = strings.Cut(list, "\nFlags:\n")
		lines := []string{program, program + " --help", program + " --version"}
		for _, m := range regexp.MustCompile(`(?m)^  (\S+)`).FindAllStringSubmatch(list, -1) {
			lines = append(lines, program+" "+m[1])
		}
		for _, line := range lines {
			if said, status := shell(t, dir, line+" </dev/null >&-"); status != 64 || !strings.Contains(said, "error: standard output is closed") {
				t.Errorf("%s >&-: %d, %q", line, status, said)
			}
			n++
		}
	}
	if n < 50 {
		t.Errorf("only %d commands", n)
	}
}

// TestClosedInput: a command that reads standard input says so when it is closed, and does not
// take that for the end of what it was to read.
func TestClosedInput(t *testing.T) {
	dir := t.TempDir()
	do := func(line string, want ...int) string {
		t.Helper()
		said, status := shell(t, dir, "export PULSE_POLICY=policy.toml PULSE_QUEUE=queue; "+line)
		if !slices.Contains(want, status) {
			t.Errorf("%s: %d, want %v: %s", line, status, want, said)
		}
		return said
	}
	do("umask 077; pulse-authorize init --owner me@example.com --agent agent@example.com >policy.toml && pulse-queue init", 0)
	for _, line := range []string{
		"pulse-fetch -", "pulse-classify", "pulse-classify suggest", "pulse-authorize", "pulse-authorize explain",
		"pulse-authorize diff policy.toml policy.toml --records -", "pulse-queue add",
	} {
		if said := do(line+" <&-", 64); !strings.Contains(said, "standard input is closed") {
			t.Errorf("%s <&-: %s", line, said)
		}
		do(line+" </dev/null", 0, 1) // 1: there must be something to read
	}
	// What reads no standard input does not miss it.
	for _, line := range []string{"pulse-queue list", "pulse-queue health --accept not_separated", "pulse-authorize matrix"} {
		do(line+" <&-", 0)
	}
	if out, err := filepath.Glob(dir + "/queue/scheduled/*"); err != nil || len(out) > 0 {
		t.Errorf("%v, %v", out, err)
	}
}
