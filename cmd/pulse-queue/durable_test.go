package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// TestNotDurable: init and health say that a reboot takes the queue; init makes it all the
// same.
func TestNotDurable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount: a queue in memory was not tried")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700"); errors.Is(err, unix.EPERM) {
		t.Skip("root may not mount here, as in a container without CAP_SYS_ADMIN: a queue in memory was not tried: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	bin := t.TempDir()
	if err := cmdlinetest.Build(bin, "pulse-queue"); err != nil {
		t.Fatal(err)
	}
	queue := filepath.Join(dir, "q")
	for _, c := range []struct {
		command, want string
		fails         bool
	}{
		{"init", "pulse-queue: warning: " + queue + " lies on tmpfs: a reboot or a power cut takes all of it; put the queue on a disk", false},
		{"health", "not_durable: " + queue + " lies on tmpfs", true},
	} {
		out, err := exec.Command(filepath.Join(bin, "pulse-queue"), c.command, "--queue", queue).CombinedOutput()
		if (err != nil) != c.fails || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v: %s", c.command, err, out)
		}
	}
}
