package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// TestSnapshotForAnotherAccount: an account that may read a snapshot through its group
// sees all of it, and nothing of the queue. Only root can be another account; without it
// the owner reads the snapshot, and the test says what it left out.
func TestSnapshotForAnotherAccount(t *testing.T) {
	const stranger = 54321 // uid and gid of nobody in particular
	d := newDesk(t)
	view, bin := filepath.Join(d.dir, "view"), t.TempDir()
	var as *syscall.SysProcAttr
	if os.Geteuid() == 0 {
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	} else {
		defer t.Skip("only root can be another account: that a reader sees nothing of the queue was not tried")
	}
	if err := cmdlinetest.Build(bin, "pulse-queue"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(bin), bin, filepath.Dir(d.dir), d.dir} {
		if dir == filepath.Clean(os.TempDir()) { // it is everybody's
			continue
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(view, 0o750); err != nil {
		t.Fatal(err)
	}
	if as != nil {
		if err := os.Chown(view, 0, stranger); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(view, os.ModeSetgid|0o750); err != nil {
		t.Fatal(err)
	}
	d.must("pulse-queue", "snapshot", "view/q")
	t.Cleanup(func() { d.must("chmod", "-R", "u+w", "view") })
	read := func(args ...string) (string, error) {
		cmd := exec.Command(filepath.Join(bin, "pulse-queue"), args...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = d.dir, []string{"PULSE_QUEUE=" + filepath.Join(view, "q")}, as
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, args := range [][]string{{"list", "--all"}, {"show", d.id}, {"stats"}, {"verify"}, {"show", d.id, "--json"}} {
		if got, err := read(args...); err != nil || got != d.must("pulse-queue", args...) && args[0] == "verify" {
			t.Errorf("%v: %v: %s", args, err, got)
		}
	}
	for _, args := range [][]string{{"hold"}, {"cancel", d.id}, {"prune", "--older-than", "0"}, {"submit", "--action", "read_public", "x"}} {
		if got, err := read(args...); err == nil || !strings.Contains(got, "is a snapshot") {
			t.Errorf("%v: %v: %s", args, err, got)
		}
	}
	if as == nil {
		return
	}
	if got, err := read("list", "--queue", filepath.Join(d.dir, "q")); err == nil {
		t.Errorf("the queue itself can be read: %s", got)
	}
	cmd := exec.Command("find", view, "-writable")
	cmd.SysProcAttr = as
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("it can write %s (%v)", out, err)
	}
}
