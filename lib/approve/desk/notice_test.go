package desk_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// laptop is the account of the other machine: it has a key and two directories, and
// neither the queue nor the policy.
const laptop = 2 // bin, which every Debian has

// recipe returns a script of pulse-levels(7), for the paths of this gate.
func (e *elsewhere) recipe(name string) string {
	e.t.Helper()
	page, err := os.ReadFile("../../../man/pulse-levels.7")
	e.do(err)
	_, text, ok := strings.Cut(string(page), `.\" script: `+name+"\n.Bd -literal -offset indent\n#!/bin/sh\n")
	text, _, end := strings.Cut(text, ".Ed\n")
	if !ok || !end {
		e.t.Fatalf("pulse-levels(7) has no script %s", name)
	}
	bin, err := built()
	e.do(err)
	text = strings.NewReplacer(`\e`, `\`, "/srv/pulse", e.path("spool"), "/var/lib/pulse/queue", e.path("home/q"),
		"/etc/pulse/policy.toml", e.path("etc/policy.toml"), "~/.ssh/pulse", e.path("laptop/key")).Replace(text)
	e.write("spool/"+name, "#!/bin/sh\nPATH="+bin+":/usr/bin:/bin\n"+text)
	e.do(os.Chmod(e.path("spool/"+name), 0o755))
	return e.path("spool/" + name)
}

// arrival returns a function that waits for the next file that is moved into a directory,
// and returns its path.
func (e *elsewhere) arrival(dir string) (next func() string) {
	e.t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	e.do(err)
	events := os.NewFile(uintptr(fd), "inotify")
	e.t.Cleanup(func() { events.Close() })
	_, err = unix.InotifyAddWatch(fd, dir, unix.IN_MOVED_TO)
	e.do(err)
	e.do(events.SetReadDeadline(time.Now().Add(10 * time.Minute)))
	return func() string {
		e.t.Helper()
		b := make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1)
		n, err := events.Read(b)
		e.do(err)
		return filepath.Join(dir, strings.TrimRight(string(b[unix.SizeofInotifyEvent:n]), "\x00"))
	}
}

// TestFromNoticeToStart: how long it takes from the notice to the started effect, if the
// key is on another machine: the recipes of pulse-approve(1) carry the statement there and
// the answer back. The time in which a person reads is not in it.
func TestFromNoticeToStart(t *testing.T) {
	for _, kind := range []string{"ed25519", "token"} {
		e := newElsewhere(t, "signature")
		for _, dir := range []string{"laptop", "spool/asked", "spool/answers"} {
			e.do(os.MkdirAll(e.path(dir), 0o700))
		}
		e.do(os.Chown(e.path("spool/asked"), intake, intake))
		e.do(os.Chmod(e.path("spool/asked"), 0o755))
		e.do(os.Chown(e.path("spool/answers"), laptop, intake))
		e.do(os.Chmod(e.path("spool/answers"), 0o770))
		key := map[string]string{"ed25519": "keys/id", "token": "keys/token"}[kind]
		e.write("laptop/key", e.read(key))
		e.write("laptop/key.pub", e.read(key+".pub"))
		e.do(os.Chmod(e.path("laptop/key"), 0o600))
		for _, name := range []string{"laptop", "laptop/key", "laptop/key.pub"} {
			e.do(os.Chown(e.path(name), laptop, laptop))
		}
		notify, answer, take := e.recipe("notify"), e.recipe("answer"), e.recipe("take")
		asked, answered := e.arrival(e.path("spool/asked")), e.arrival(e.path("spool/answers"))
		out := make(chan string, 1)
		record := e.must(strings.Replace(proposed, "%TARGET%", "bob@partner.example", 1), "pulse-authorize")

		began := time.Now()
		go func() { // whose notice program is the first to know
			text, _ := e.intake(record, "pulse-queue", "add", "--notify", notify)
			out <- text
		}()
		cmd := exec.Command("/bin/sh", answer, asked())
		cmd.Dir, cmd.Stdin = "/", strings.NewReader("\n")
		cmd.Env = []string{"SSH_SK_PROVIDER=" + e.token, "HOME=" + e.path("laptop")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: laptop, Gid: laptop}}
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("the other machine: %v: %s", err, text)
		}
		answered()
		if text, status := e.intake("", take); status != 0 || !strings.Contains(text, ": approved\n") {
			t.Fatalf("take: exit %d: %s", status, text)
		}
		e.send("date +%s.%N >" + e.path("out/at"))
		id := e.task(<-out).ID
		at, err := strconv.ParseFloat(strings.TrimSpace(e.read("out/at")), 64)
		if got := e.show(id); err != nil || e.sent() != 1 || got.State != "completed" {
			t.Fatalf("sent %d, %+v, %v", e.sent(), got, err)
		}
		took := at - float64(began.UnixNano())/1e9
		t.Logf("%s: %.2f s from the command that tells of a task to its started effect, with the key under another account", kind, took)
		if took > 600 {
			t.Errorf("%s: %.1f s", kind, took)
		}
		if _, err := os.Stat(e.path("spool/answers/" + id)); err == nil {
			t.Error("the answer still lies in the spool")
		}
		for _, path := range []string{"home/q", "keys", "ledger"} { // what the other account is not to see
			cmd := e.command(laptop, "/bin/ls", e.path(path))
			if out, status := e.finish(cmd, ""); status == 0 {
				t.Error(fmt.Sprint("the other machine reads ", path, ": ", out))
			}
		}
	}
}
