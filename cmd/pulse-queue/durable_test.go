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

// TestFullDisk: a disk on which nothing has room is told of by health alone, which leaves no line
// behind that is not carried out; the line of cron with nothing to add says nothing.
func TestFullDisk(t *testing.T) {
	dir := inMemory(t, "mode=0700,size=4m")
	bin := t.TempDir()
	if err := cmdlinetest.Build(bin, "pulse-queue", "pulse-authorize"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-o", "pipefail", "-c", `pulse-queue init 2>/dev/null; pulse-queue submit --action read_public hi >/dev/null
dd if=/dev/zero of=../fill bs=4k 2>/dev/null
for i in 1 2; do
	pulse-queue outbox | pulse-authorize | pulse-queue add; echo $?
	pulse-queue health --accept not_durable,not_separated; echo $?
done 2>&1
pulse-queue list --json | pulse-queue add 2>/dev/null; echo $?
rm ../fill; pulse-queue health --accept not_durable,not_separated; pulse-queue verify >/dev/null; echo $?`)
	cmd.Dir = filepath.Join(dir, "w")
	policy := filepath.Join(t.TempDir(), "policy.toml")
	if err := errors.Join(os.Mkdir(cmd.Dir, 0o700), os.WriteFile(policy, []byte("owners = [\"me@example.com\"]\n[limits]\ndisk_reserve = \"64KiB\"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PULSE_QUEUE="+dir+"/q", "PULSE_POLICY="+policy, "XDG_STATE_HOME="+dir+"/state")
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var got []string
	for _, l := range lines {
		word, _, _ := strings.Cut(l, ": ")
		got = append(got, word)
	}
	if want := "0 pulse-queue disk_low 1 0 pulse-queue disk_low 1 75 0"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("%v: %q, want %q:\n%s", err, got, want, out)
	}
}

// TestDiskGetsFull: a disk of which little is free is told of once, by add or by health, and add does
// nothing until there is room.
func TestDiskGetsFull(t *testing.T) {
	dir := inMemory(t, "mode=0700,size=32m")
	bin := t.TempDir()
	if err := cmdlinetest.Build(bin, "pulse-queue", "pulse-authorize"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-o", "pipefail", "-c", `pulse-queue init 2>/dev/null
head -c $(($(stat -f -c '%a*%S' ..) - (1 << 20))) /dev/zero >../fill
for i in 1 2; do
	pulse-authorize <$RECORD | pulse-queue add; echo $?
	pulse-queue health --accept not_durable,not_separated; echo $?
	pulse-queue add </dev/null
done 2>&1
rm ../fill
pulse-authorize <$RECORD | pulse-queue add >/dev/null; echo $?
pulse-queue health --accept not_durable,not_separated; pulse-queue verify >/dev/null; echo $?`)
	cmd.Dir = filepath.Join(dir, "w")
	policy, err := filepath.Abs("testdata/shared/policy.toml")
	record, also := filepath.Abs("testdata/shared/owner.jsonl")
	if err := errors.Join(err, also, os.Mkdir(cmd.Dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PULSE_QUEUE="+dir+"/q", "PULSE_POLICY="+policy,
		"RECORD="+record, "XDG_STATE_HOME="+dir+"/state")
	out, err := cmd.CombinedOutput()
	var got []string
	for l := range strings.Lines(string(out)) {
		words := strings.Fields(strings.TrimPrefix(l, "pulse-queue: "))
		got = append(got, strings.Join(words[:min(2, len(words))], " "))
	}
	want := "error: " + dir + "/q:, hint: make, 75, 1, 75, 1, 0, ended: disk_low:, 0"
	if all := strings.Join(got, ", "); err != nil || all != want {
		t.Errorf("%v: %q, want %q:\n%s", err, all, want, out)
	}
}
