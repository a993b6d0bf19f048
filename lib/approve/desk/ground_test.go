package desk_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pulse/lib/shared/safefile/fusetest"
)

// mount mounts something until unmount is called, or the test ends.
func (w *three) mount(what, at, kind string, flags uintptr) (unmount func()) {
	w.t.Helper()
	w.do(syscall.Mount(what, at, kind, flags, ""))
	done := false
	unmount = func() {
		if !done {
			w.do(syscall.Unmount(at, syscall.MNT_DETACH))
		}
		done = true
	}
	w.t.Cleanup(unmount)
	return unmount
}

// copied makes a person's file of a yes elsewhere, byte for byte and mode for mode.
func (w *three) copied(id, to string) {
	w.t.Helper()
	from, err := os.Stat(w.approval(id))
	w.do(err)
	text, err := os.ReadFile(w.approval(id))
	w.do(err)
	w.do(os.WriteFile(to, []byte(strings.Replace(string(text), `"level":"terminal"`, `"level":"user"`, 1)), 0o600))
	w.do(os.Chown(to, int(w.person.uid), int(from.Sys().(*syscall.Stat_t).Gid)))
	w.do(os.Chmod(to, 0o640))
}

// TestForgedByMount: a mount over a part of the queue shows files of the person's that the
// person never wrote. They are nobody's yes.
func TestForgedByMount(t *testing.T) {
	w := newThree(t)
	id := w.propose("bob@partner.example")
	w.forge(id)
	approvals, beside := w.path("home/q/approvals"), w.path("beside")
	w.do(os.Mkdir(beside, 0o755))
	w.copied(id, filepath.Join(beside, id+".json"))

	for what, mount := range map[string]func() func(){
		"a directory": func() func() { return w.mount(beside, approvals, "", syscall.MS_BIND) },
		"a tmpfs": func() func() {
			unmount := w.mount("tmpfs", approvals, "tmpfs", 0)
			w.do(os.Chown(approvals, int(w.intake.uid), -1))
			return unmount
		},
		"grants of another mount": func() func() { return w.mount(beside, w.path("home/q/grants"), "", syscall.MS_BIND) },
	} {
		unmount := mount()
		if out, status := w.send(); status != 64 || !strings.Contains(out, "another mount than the queue") || !strings.Contains(out, "hint: findmnt -T ") || w.sent() > 0 {
			t.Errorf("%s: run: exit %d, sent %d: %s", what, status, w.sent(), out)
		}
		if status, screen := w.answerBy(w.by(w.person, "pulse-approve", "yes", id)); status != 77 || !strings.Contains(screen, "another mount than the queue") {
			t.Errorf("%s: yes: exit %d:\n%s", what, status, screen)
		}
		if got := w.health(); !strings.Contains(got, "forgeable") {
			t.Errorf("%s: health: %s", what, got)
		}
		if out, _ := w.run(0, "", "pulse-authorize", "check", "--queue", w.path("home/q")); !strings.Contains(out, "the owner of a file in the queue proves nothing") {
			t.Errorf("%s: check: %s", what, out)
		}
		unmount()
	}

	unmount := w.mount(filepath.Join(beside, id+".json"), w.approval(id), "", syscall.MS_BIND)
	if out, status := w.send(); w.sent() > 0 {
		t.Errorf("a file over the file: exit %d, sent %d: %s", status, w.sent(), out)
	}
	unmount()
	w.send()
	if got := w.show(id); w.sent() > 0 || got.State != "awaiting_review" {
		t.Errorf("it was sent %d times: %+v", w.sent(), got)
	}
}

// TestQueueOnFUSE: where a program says whose the files are, nobody says yes under an
// account.
func TestQueueOnFUSE(t *testing.T) {
	w := newThree(t)
	info, err := os.Stat(w.path("home/q"))
	w.do(err)
	gid := info.Sys().(*syscall.Stat_t).Gid
	groups, format := w.read("home/q/groups"), w.read("home/q/format")
	fusetest.Mount(t, w.path("home/q"), w.intake.uid, map[string]fusetest.File{
		"":        {Mode: syscall.S_IFDIR | syscall.S_ISGID | 0o770, UID: w.intake.uid, GID: gid},
		"format":  {Mode: syscall.S_IFREG | 0o660, UID: w.intake.uid, GID: gid, Data: format},
		"network": {Mode: syscall.S_IFREG | 0o660, UID: w.intake.uid, GID: gid},
		"groups":  {Mode: syscall.S_IFREG | 0o640, UID: w.intake.uid, GID: gid, Data: groups},
	})
	if out, status := w.send(); status != 64 || !strings.Contains(out, "FUSE file system") {
		t.Errorf("run: exit %d: %s", status, out)
	}
	if out, _ := w.run(0, "", "pulse-authorize", "check", "--queue", w.path("home/q")); !strings.Contains(out, "FUSE file system") {
		t.Errorf("check: %s", out)
	}
}
