package desk_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/sandbox"
)

// three is the deployment that pulse-deploy(7) describes: the queue belongs to the intake's
// account, a person answers under his own, workers run under a third, and root starts
// them.
type three struct {
	*world
	intake, person, worker, stranger account
	approvers, workers               string
}

// account is one that a test made.
type account struct {
	name   string
	uid    uint32
	groups []uint32
}

// newThree makes three accounts and the groups of a queue.
func newThree(t *testing.T) *three {
	t.Helper()
	w := &three{world: bareWorld(t, "pulse-three-")}
	dir := w.dir
	mark := strconv.FormatInt(int64(os.Getpid()), 36) + strings.ToLower(filepath.Base(dir)[len("pulse-three-"):])
	mark = mark[:min(len(mark), 14)]
	w.approvers, w.workers = "pulse-a"+mark, "pulse-w"+mark
	for _, g := range []string{w.approvers, w.workers} {
		w.system("groupadd", "--system", g)
		t.Cleanup(func() { exec.Command("groupdel", g).Run() })
	}
	w.intake = w.account("pulse-p"+mark, w.approvers, w.workers)
	w.person = w.account("pulse-h"+mark, w.approvers)
	w.worker = w.account("pulse-x"+mark, w.workers)
	w.stranger = w.account("pulse-s" + mark)
	for name, mode := range map[string]os.FileMode{"": 0o755, "etc": 0o755, "home": 0o755, "out": 0o777, "state": 0o777 | os.ModeSticky} {
		w.do(os.MkdirAll(w.path(name), 0o700))
		w.do(os.Chmod(w.path(name), mode))
	}
	w.do(os.Chown(w.path("home"), int(w.intake.uid), -1))
	w.require("user")
	w.mustBy(w.intake, "", "pulse-queue", "init", "--approver-group", w.approvers, "--worker-group", w.workers)
	return w
}

func (w *three) system(name string, args ...string) {
	w.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		w.t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// account makes an account with a group of its own, and others besides.
func (w *three) account(name string, groups ...string) account {
	w.t.Helper()
	w.system("useradd", "--system", "--no-create-home", "--user-group", "--groups", strings.Join(groups, ","), "--shell", "/bin/sh", name)
	w.t.Cleanup(func() { exec.Command("userdel", name).Run() })
	return w.lookup(name)
}

// lookup returns an account as it would log in now.
func (w *three) lookup(name string) account {
	w.t.Helper()
	u, err := user.Lookup(name)
	w.do(err)
	uid, err := strconv.Atoi(u.Uid)
	w.do(err)
	ids, err := u.GroupIds()
	w.do(err)
	a := account{name: name, uid: uint32(uid)}
	for _, id := range append([]string{u.Gid}, ids...) {
		gid, err := strconv.Atoi(id)
		w.do(err)
		a.groups = append(a.groups, uint32(gid))
	}
	return a
}

func (w *three) require(level string, more ...string) {
	w.t.Helper()
	w.write("etc/policy.toml", fmt.Sprintf("owners = [\"me@example.com\"]\n[approval]\nrequire = %q\n%s", level, strings.Join(more, "\n")))
}

func (w *three) by(a account, name string, args ...string) *exec.Cmd {
	w.t.Helper()
	cmd := w.command(a.uid, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.groups[0], Groups: a.groups}}
	return cmd
}

func (w *three) runBy(a account, stdin, name string, args ...string) (string, int) {
	w.t.Helper()
	return w.finish(w.by(a, name, args...), stdin)
}

func (w *three) mustBy(a account, stdin, name string, args ...string) string {
	w.t.Helper()
	out, status := w.runBy(a, stdin, name, args...)
	if status != 0 {
		w.t.Fatalf("%s as %s: %v: exit status %d: %s", name, a.name, args, status, out)
	}
	return out
}

// propose puts an effect into the queue and returns its id.
func (w *three) propose(target string) string {
	w.t.Helper()
	line := w.mustBy(w.intake, strings.Replace(proposed, "%TARGET%", target, 1), "pulse-authorize")
	return w.task(w.mustBy(w.intake, line, "pulse-queue", "add")).ID
}

func (w *three) show(id string) seen {
	w.t.Helper()
	return w.task(w.mustBy(w.intake, "", "pulse-queue", "show", id, "--json"))
}

// answerBy lets an account answer, at a terminal.
func (w *three) answerBy(cmd *exec.Cmd) (status int, screen string) {
	w.t.Helper()
	p, err := cmdlinetest.Sit(cmd)
	w.do(err)
	defer p.Leave()
	if code, err := p.Code(); err == nil {
		w.do(p.Type(code + "\n"))
	}
	status, out := p.Wait()
	return status, string(out)
}

func (w *three) yes(id string) {
	w.t.Helper()
	if w.way != atDesk {
		if status, out := w.bring(w.intake, "id", "yes", id); status != 0 {
			w.t.Fatalf("exit %d: %s", status, out)
		}
		return
	}
	if status, screen := w.answerBy(w.by(w.person, "pulse-approve", "yes", id)); status != 0 {
		w.t.Fatalf("exit %d:\n%s", status, screen)
	}
}

// forge approves a task as the queue's owner, with the code of the spool.
func (w *three) forge(id string) {
	w.t.Helper()
	cmd := w.by(w.intake, "forger", "-test.run", "^TestForger$", "-test.count", "1")
	cmd.Env = append(cmd.Env, "FORGE=level terminal", "TASK="+id, "TMPDIR="+w.path("home"))
	if out, status := w.finish(cmd, ""); status != 0 || !strings.Contains(out, "forged") {
		w.t.Fatalf("the forger failed: %s", out)
	}
}

// approved returns an effect that the person approved.
func (w *three) approved(target string) string {
	w.t.Helper()
	id := w.propose(target)
	w.yes(id)
	return id
}

// send runs what is approved, as root, with the worker's account.
func (w *three) send(script ...string) (string, int) {
	w.t.Helper()
	args := w.sending(script...)
	for i := range args {
		if args[i] == worker {
			args[i] = w.worker.name
		}
	}
	return w.run(0, "", "pulse-queue", args...)
}

func (w *three) approval(id string) string { return w.path("home/q/approvals/" + id + ".json") }

// holds makes sure who owns the file of an approval, and its mode.
func (w *three) holds(path string, uid uint32, mode os.FileMode) {
	w.t.Helper()
	info, err := os.Stat(path)
	w.do(err)
	if st := info.Sys().(*syscall.Stat_t); st.Uid != uid || info.Mode().Perm() != mode {
		w.t.Errorf("%s: uid %d, mode %04o, want %d and %04o", filepath.Base(path), st.Uid, info.Mode().Perm(), uid, mode)
	}
}

// parks makes sure that a run does not start a task, and that it waits for a person.
func (w *three) parks(what, id string) {
	w.t.Helper()
	before := w.sent()
	if out, status := w.send(); status != 0 {
		w.t.Errorf("%s: run: exit %d: %s", what, status, out)
	}
	if got := w.show(id); w.sent() != before || got.State != "awaiting_review" || got.Reason != "approval_not_good" {
		w.t.Errorf("%s: it was started %d times, %+v", what, w.sent()-before, got)
	}
}

// health returns the codes that health finds, as the queue's owner and confined as far
// as this kernel can.
func (w *three) health() (codes string) {
	w.t.Helper()
	mode := "require"
	if sandbox.Lacks(false) != "" {
		mode = "auto"
	}
	out, _ := w.runBy(w.intake, "", "pulse-queue", "health", "--all", "--max", "silent=0", "--accept", "no_sandbox", "--sandbox", mode)
	for line := range strings.Lines(out) {
		if code, _, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(code, "pulse-queue") {
			codes += code + " "
		}
	}
	return strings.TrimSpace(codes)
}
