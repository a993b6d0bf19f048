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

// inMemory returns a directory on a file system of its own.
func inMemory(t *testing.T, options string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount: a queue in memory was not tried")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); errors.Is(err, unix.EPERM) {
		t.Skip("root may not mount here, as in a container without CAP_SYS_ADMIN: a queue in memory was not tried: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// TestNotDurable: init and health say that a reboot takes the queue; init makes it all the
// same.
func TestNotDurable(t *testing.T) {
	dir := inMemory(t, "mode=0700")
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

// TestFullDisk: what a disk has no room for is told once, by add if there are records, and leaves no
// line behind that is not carried out. Add remembers it in the queue or, if not even that has room,
// beside it. The line of cron with nothing to add says nothing.
func TestFullDisk(t *testing.T) {
	dir := inMemory(t, "mode=0700,size=16m")
	bin := t.TempDir()
	if err := cmdlinetest.Build(bin, "pulse-queue", "pulse-authorize"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-o", "pipefail", "-c", `pulse-queue init 2>/dev/null; pulse-queue submit --action read_public hi >/dev/null
pulse-queue list --json >../records; pulse-queue add </dev/null
add() { pulse-queue add <../records; echo $?; }
health() { pulse-queue health --accept not_durable,not_separated; echo $?; }
{
dd if=/dev/zero of=../fill bs=4k; truncate -s -600K ../fill; add; add; health; rm ../fill; add; health
dd if=/dev/zero of=../fill bs=4k
for i in 1 2; do pulse-queue outbox | pulse-authorize | pulse-queue add; echo $?; done
health; health; add; add; rm ../fill; add; add; health
} 2>&1 | grep -v -e ' records ' -e ' copied,' -e '^dd:' -e '^pulse-queue: hint' -e '"task"'
pulse-queue verify >/dev/null; echo $?`)
	cmd.Dir = filepath.Join(dir, "w")
	policy := filepath.Join(t.TempDir(), "policy.toml")
	if err := errors.Join(os.Mkdir(cmd.Dir, 0o700), os.WriteFile(policy, []byte("owners = [\"me@example.com\"]\n[limits]\ndisk_reserve = \"64MiB\"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PULSE_QUEUE="+dir+"/q", "PULSE_POLICY="+policy, "XDG_STATE_HOME="+dir+"/state")
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var got []string
	for _, l := range lines {
		word, text, _ := strings.Cut(l, ": ")
		if word == "pulse-queue" || word == "ended" {
			word, _, _ = strings.Cut(text, ": ")
		}
		got = append(got, word)
	}
	want := "error 75 75 1 0 disk_low 0 " + // in the queue, for health
		"0 0 warning disk_low 1 1 75 75 ended 0 0 0 0" // beside it
	if strings.Join(got, " ") != want || err != nil {
		t.Errorf("%v: %q, want %q:\n%s", err, got, want, out)
	}
}
