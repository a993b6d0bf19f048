package cmd_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pulse/lib/shared/sandbox"
)

// bench is a directory with a policy, a queue that has a task, and a mail.
func bench(t *testing.T) (*host, string) {
	t.Helper()
	h := &host{dir: t.TempDir()}
	h.queue = filepath.Join(h.dir, "queue")
	h.write(t, "policy.toml", "owners = [\"me@example.com\"]\n")
	h.write(t, "mail", "From: me@example.com\nSubject: x\nMessage-ID: <1@example.com>\n\nx\n")
	for _, sub := range []string{"md/new", "md/cur"} {
		if err := os.MkdirAll(filepath.Join(h.dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.write(t, "box", "From x Sat Nov 21 07:00:00 2026\nFrom: me@example.com\n\nx\n")
	h.must(t, "pulse-queue init")
	h.must(t, "pulse-fetch mail >fetched; pulse-classify <fetched >classified; pulse-authorize <classified >decided")
	return h, strings.TrimSpace(h.must(t, "pulse-queue submit --action read_public x | jq -r .task.id"))
}

// confined are commands that give up what they don't need, and what they read is not
// read before. ID is a task's.
var confined = []string{
	"pulse-fetch mail", "pulse-fetch maildir:md", "pulse-fetch --dkim maildir:md", "pulse-fetch --dkim --resolver 127.0.0.1:5353 maildir:md", "pulse-fetch mbox:box", "pulse-fetch - <mail",
	"pulse-classify <fetched", "pulse-classify --queue queue <fetched", "pulse-classify suggest <fetched",
	"pulse-authorize <classified",
	"pulse-queue add <decided", "pulse-queue list --all", "pulse-queue show ID", "pulse-queue log", "pulse-queue stats",
	"pulse-queue stats --prometheus out", "pulse-queue verify", "pulse-queue health", "pulse-queue digest", "pulse-queue positions", "pulse-queue sessions",
	"pulse-approve grants",
}

// TestStagesConfineThemselves: each stage works as without, and has asked the kernel
// for what --version --verbose says by the time it ends.
func TestStagesConfineThemselves(t *testing.T) {
	h, id := bench(t)
	here := sandbox.Here()
	want := map[string]int{"seccomp": 0, "landlock_restrict_self": 0}
	if here.Seccomp {
		want["seccomp"] = 1
	}
	if here.Landlock > 0 {
		want["landlock_restrict_self"] = 1
	}
	for _, line := range confined {
		line = strings.ReplaceAll(line, "ID", id)
		trace := filepath.Join(t.TempDir(), "trace")
		h.must(t, "strace -f -qq -o "+trace+" -e trace=seccomp,landlock_restrict_self "+line+" >/dev/null")
		b, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		for call, least := range want {
			// Another thread's call may come before this one's end is told.
			made := regexp.MustCompile(`(`+call+`\((SECCOMP_SET_MODE_FILTER|\d+).*|<\.\.\. `+call+` resumed>.*)\) += 0`).FindAllString(string(b), -1)
			if (len(made) > 0) != (least > 0) {
				t.Errorf("%s: %s: %q\n%s", line, call, made, b)
			}
		}
		made := h.must(t, "strace -f -qq -o /dev/stdout -e trace=seccomp,landlock_restrict_self "+line+" --sandbox off | grep -E 'MODE_FILTER|restrict_self' || :")
		if made != "" {
			t.Errorf("%s --sandbox off: %s", line, made)
		}
	}
}

// TestNothingToBeConfinedFor: a stage whose pipe ends without input gives up nothing, because it reads
// nothing. Its policy must be good all the same, and what it is given it reads only once it is confined.
func TestNothingToBeConfinedFor(t *testing.T) {
	h, _ := bench(t)
	trace := "strace -f -qq -o trace -e trace=seccomp,read "
	for _, stage := range []string{"pulse-classify", "pulse-authorize"} {
		h.must(t, ": | "+trace+stage)
		if got := h.read(t, "trace"); strings.Contains(got, "MODE_FILTER") || strings.Contains(got, "read(0,") {
			t.Errorf("%s: %s", stage, got)
		}
		if _, errs, status := h.sh(t, ": | "+stage+" --policy none"); status != 64 || !strings.Contains(errs, "none") {
			t.Errorf("%s without a policy: %d %s", stage, status, errs)
		}
		if _, errs, status := h.sh(t, ": | "+trace+"-e inject=seccomp:error=ENOSYS "+stage+" --sandbox require"); status != 75 {
			t.Errorf("%s --sandbox require: %d %s", stage, status, errs)
		}
	}
	if !sandbox.Here().Seccomp {
		return
	}
	h.must(t, "cat fetched | "+trace+"pulse-classify | pulse-authorize >again; cmp decided again")
	if got := h.read(t, "trace"); !strings.Contains(got, "MODE_FILTER") || strings.Index(got, "MODE_FILTER") > strings.Index(got, "read(0,") {
		t.Errorf("read before it was confined: %s", got)
	}
}

// TestSandboxRequired: where the kernel has not what a stage needs, --sandbox=require is
// 75 and prints nothing; auto goes on, and tells in the log.
func TestSandboxRequired(t *testing.T) {
	h, _ := bench(t)
	without := func(call string) string {
		return "strace -f -qq -o /dev/null -e inject=" + call + ":error=ENOSYS "
	}
	for _, call := range []string{"landlock_create_ruleset", "seccomp"} {
		for _, line := range []string{"pulse-fetch mail", "pulse-classify <fetched", "pulse-authorize <classified", "pulse-queue add <decided"} {
			out, errs, status := h.sh(t, without(call)+line+" --sandbox require")
			if status != 75 || out != "" || !strings.Contains(errs, "sandbox: this kernel has no ") {
				t.Errorf("%s, no %s: %d %q %q", line, call, status, out, errs)
			}
			h.must(t, without(call)+line+" >/dev/null")
		}
		got := h.must(t, without(call)+"pulse-queue --version --verbose")
		if want := regexp.MustCompile(`\nsandbox: (.*)\n$`).FindStringSubmatch(got); want == nil || strings.Contains(want[1], "+") {
			t.Errorf("no %s: %s", call, got)
		}
	}
	h.must(t, "pulse-queue add --sandbox off <decided >/dev/null; pulse-queue add <decided >/dev/null")
	got := strings.Fields(h.must(t, "pulse-queue log --event refused --json | jq -r .sandbox"))
	here := sandbox.Here()
	want := []string{
		sandbox.Level{Seccomp: here.Seccomp}.String(), sandbox.Level{Landlock: here.Landlock}.String(), "none", here.String(),
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the log says %q, want %q", got, want)
	}
	if out, errs, status := h.sh(t, "pulse-queue add --notify true --sandbox require <decided"); status != 64 || out != "" || !strings.Contains(errs, "--notify starts a program") {
		t.Errorf("%d %q %q", status, out, errs)
	}
}

// TestConcealed: the memory of a stage belongs to root, so nobody else of the same user
// reads it.
func TestConcealed(t *testing.T) {
	h, _ := bench(t)
	fetched, err := os.ReadFile(filepath.Join(h.dir, "fetched"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "pulse-classify"), "--policy", filepath.Join(h.dir, "policy.toml"))
	if os.Getuid() == 0 { // whose everything is root's
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if err := errors.Join(os.Chmod(bin, 0o755), os.Chmod(filepath.Dir(h.dir), 0o755), os.Chmod(h.dir, 0o755), os.Chmod(filepath.Join(h.dir, "policy.toml"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(fetched); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, len(fetched)*2)); err != nil { // so it is under way
		t.Fatal(err)
	}
	proc := filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid))
	info, err := os.Stat(filepath.Join(proc, "mem"))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("%+v, %v", info, err)
	}
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil || strings.Contains(string(status), "\nSeccomp:\t2\n") != sandbox.Here().Seccomp {
		t.Errorf("%s %v", status, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// most is the strictest mode that this kernel can keep.
func most() string {
	if sandbox.Lacks(true) == "" {
		return "require"
	}
	return "auto"
}

// begin starts a worker, and kills its runner. It returns the worker's process, which
// goes on.
func (h *host) begin(t *testing.T) (worker string) {
	t.Helper()
	return strings.TrimSpace(h.must(t, "exec 2>/dev/null; mkfifo started; pulse-queue run -- sh -c 'echo $$ >"+h.dir+"/started; exec sleep 600' >/dev/null & "+
		"read worker <started; kill -9 $!; wait $!; rm started; echo $worker"))
}

// end kills a process and waits until it is gone, or waits for its parent.
func (h *host) end(t *testing.T, pid string) {
	t.Helper()
	h.must(t, "kill -9 "+pid+"; until ! [ -e /proc/"+pid+" ] || grep -q ') Z' /proc/"+pid+"/stat; do :; done")
}

// TestNothingIsMissed: what a command asks of the kernel after it has confined itself
// is what its profile keeps: what it wants to know besides, it has looked up before.
func TestNothingIsMissed(t *testing.T) {
	h, id := bench(t)
	h.end(t, h.begin(t))
	h.must(t, aged)
	for _, line := range append(confined, "pulse-approve consume bob@partner.example") {
		line = strings.ReplaceAll(line, "ID", id)
		h.sh(t, "strace -f -qq -o trace "+line+" --sandbox "+most()+" >/dev/null")
		b, err := os.ReadFile(filepath.Join(h.dir, "trace"))
		if err != nil {
			t.Fatal(err)
		}
		_, after, ok := strings.Cut(string(b), "seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC")
		if ok != sandbox.Here().Seccomp {
			t.Errorf("%s: confined %v", line, ok)
		}
		for _, call := range regexp.MustCompile(`.* = -1 E(PERM|ACCES) .*`).FindAllString(after, -1) {
			// epoll_ctl, which a regular file is not for, and what a signal right after it gives back
			if !strings.Contains(call, "epoll_ctl") && !strings.Contains(call, "rt_sigreturn") {
				t.Errorf("%s: %s", line, call)
			}
		}
	}
}

// aged sets the times in the agenda back to 2020.
const aged = `sed -i 's/ 1[0-9]\{9\} 0/ 1600000000 0/' queue/agenda`

// TestConfinedHealth: what health finds it finds confined.
func TestConfinedHealth(t *testing.T) {
	h, id := bench(t)
	finds := func(want string, flags ...string) {
		t.Helper()
		line := "pulse-queue health --sandbox " + most() + " --all --accept not_separated,overdue " + strings.Join(flags, " ")
		out, errs, status := h.sh(t, line)
		if errs != "" || (status == 1) != (want != "") || !regexp.MustCompile("^"+want+"$").MatchString(out) {
			t.Errorf("%s: %d %s%s, want %s", line, status, out, errs, want)
		}
	}
	finds("")
	worker := h.begin(t)
	h.must(t, aged)
	finds("") // the worker lives
	if out := h.must(t, "pulse-queue show "+id+" --sandbox "+most()); strings.Contains(out, "nothing runs it") {
		t.Errorf("show: %s", out)
	}
	h.end(t, worker)
	finds("abandoned: task " + id + ` \(ask read_public\) was started [0-9]+d ago, and nobody runs it; pulse-queue run -- CMD\n`)
	if out := h.must(t, "pulse-queue show "+id+" --sandbox "+most()); !strings.Contains(out, "nothing runs it") {
		t.Errorf("show: %s", out)
	}

	h.must(t, "pulse-queue run --max 1 -- true; pulse-queue add <decided >/dev/null")
	finds("")
	h.must(t, "touch -d '9 days ago' queue/format")
	finds("refused: no message was taken for 7d: all that came were refused, the last one as [a-z_]+; pulse-queue log --event refused\n")
	finds("", "--max refused=10d")
	finds("", "--max refused=0")

	later := strings.TrimSpace(h.must(t, "pulse-queue submit --action read_public x | jq -r .task.id; pulse-queue run -- sh -c 'exit 75'"))
	finds("", "--max refused=0")
	finds("putoff: task "+later+` \(ask read_public\) was put off by its worker again and again for more than 0s; pulse-queue show `+later+"\n", "--max refused=0 --max putoff=1ms")
	finds("", "--max refused=0 --max putoff=0")

	h.must(t, "mv queue/scheduled/"+later+".json .")
	finds("missing: task "+later+` \(ask read_public\) is scheduled, and its file is gone; pulse-queue verify\n`, "--max refused=0")

	h.must(t, "pulse-queue init --queue other; touch -d '9 days ago' other/format")
	finds("refused: no message was taken for 7d: none came; crontab -l\n", "--max silent=0 --queue other")
}

// TestNoSandbox: where the kernel can't confine, health and check say so, and no other
// command does.
func TestNoSandbox(t *testing.T) {
	h, _ := bench(t)
	for call, lacks := range map[string]string{"landlock_create_ruleset": "this kernel has no Landlock", "seccomp": "this kernel has no seccomp filters"} {
		for _, line := range []string{"pulse-queue health --all --accept not_separated", "pulse-authorize check"} {
			out, errs, _ := h.sh(t, "strace -f -qq -o /dev/null -e inject="+call+":error=ENOSYS "+line)
			if errs != "" || strings.Count(out, lacks) != 1 || !strings.Contains(out, "what reads mail keeps all rights of its account") {
				t.Errorf("%s, no %s: %s%s", line, call, out, errs)
			}
		}
	}
	if sandbox.Lacks(false) == "" {
		if out := h.must(t, "pulse-queue health --all; pulse-authorize check"); strings.Contains(out, "kernel") {
			t.Error(out)
		}
	}
}
