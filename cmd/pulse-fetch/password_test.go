package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// TestPasswordCommandEnds: whatever ends the program ends its password command.
func TestPasswordCommandEnds(t *testing.T) {
	dir := t.TempDir()
	if err := cmdlinetest.Build(dir, "pulse-fetch"); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		fifo := filepath.Join(dir, sig.String())
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(dir, "pulse-fetch"), "--password-command", fmt.Sprintf(`sh -c "echo \$\$ >'%s'; exec sleep 1000"`, fifo), "imaps://me@127.0.0.1:1/INBOX")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(fifo) // until the shell has written and closed it
		if err != nil {
			t.Fatal(err)
		}
		pid := strings.TrimSpace(string(b))
		cmd.Process.Signal(sig)
		cmd.Wait()
		for deadline := time.Now().Add(10 * time.Minute); alive(pid); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: process %s lives", sig, pid)
			}
		}
	}
}

// alive reports whether a process runs; one that nobody has reaped does not.
func alive(pid string) bool {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	_, after, _ := strings.Cut(string(b), ") ")
	return err == nil && !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}
