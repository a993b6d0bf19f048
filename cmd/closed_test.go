package cmd_test

import (
	"os/exec"
	"path/filepath"
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

// TestClosedOutput: no stage begins when standard output is closed. Go's runtime opens /dev/null
// in its place, so that each of them ended with 0 and its answer was lost. What does not print
// for a living goes on: the brake has to work for a program that opened /dev/null for both.
func TestClosedOutput(t *testing.T) {
	dir := t.TempDir()
	run := func(line string) (string, int) {
		return shell(t, dir, "export PULSE_POLICY=policy.toml PULSE_QUEUE=queue; "+line)
	}
	if said, status := run("umask 077; pulse-authorize init --owner me@example.com --agent agent@example.com >policy.toml && pulse-queue init && mkdir mail"); status != 0 {
		t.Fatal(said)
	}
	for _, line := range []string{
		"pulse-fetch maildir:mail", "pulse-fetch -", "pulse-classify", "pulse-classify suggest", "pulse-authorize", "pulse-authorize explain", "pulse-queue add",
	} {
		if said, status := run(line + " </dev/null >&-"); status != 64 || !strings.Contains(said, "standard output is closed") {
			t.Errorf("%s >&-: %d, %q", line, status, said)
		}
		if said, status := run(line + " </dev/null 1<>/dev/null"); status != 64 {
			t.Errorf("%s: %d, %q", line, status, said)
		}
	}
	for _, line := range []string{"pulse-queue hold >&-", "pulse-queue hold 1<>/dev/null", "pulse-queue add </dev/null >&- 2>&-", "pulse-queue add <>/dev/null >&0 2>&0"} {
		if said, status := run(line); status != 0 {
			t.Errorf("%s: %d, %q", line, status, said)
		}
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
