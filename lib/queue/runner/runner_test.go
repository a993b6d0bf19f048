package runner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests of this package run one after the other: Run reaps every child of the
// process that is in another session.

const id = "0123456789abcdef0123456789abcdef"

// sh returns a worker that runs a shell script in a directory of its own.
func sh(t *testing.T, script string) (*Worker, *Locks) {
	t.Helper()
	locks, err := Dir(t.TempDir()).Take(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { locks.Worker().Close(); locks.runner.Close() })
	dir := t.TempDir()
	return &Worker{
		Path: "/bin/sh", Argv: []string{"sh", "-c", "cd " + dir + "\n" + script},
		Env: []string{"PATH=" + os.Getenv("PATH"), "DIR=" + dir}, Lock: locks.Worker(),
	}, locks
}

// unnoted drops the pid of a worker that no test looks for.
func unnoted(int) error { return nil }

// run runs a worker that must end by itself.
func run(t *testing.T, w *Worker) End {
	t.Helper()
	end, err := Run(context.Background(), w, unnoted)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := orphans(); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	return end
}

func dir(w *Worker) string { return strings.TrimPrefix(w.Env[1], "DIR=") }

func TestStreams(t *testing.T) {
	w, _ := sh(t, `cat; echo oops >&2; exit 3`)
	w.Stdin = []byte("the record\n")
	end := run(t, w)
	if string(end.Stdout) != "the record\n" || string(end.Stderr) != "oops\n" || end.Exit != 3 || end.TimedOut {
		t.Errorf("%+v", end)
	}
}

func TestExit(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 75": 75, "exit 255": 255, "kill -9 $$": -1, "kill $$": -1} {
		w, _ := sh(t, script)
		if end := run(t, w); end.Exit != want || end.How == "" {
			t.Errorf("%s: %+v", script, end)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	w, _ := sh(t, `yes out | head -c 5000000; yes err | head -c 5000000 >&2; echo last >&2`)
	end := run(t, w)
	if len(end.Stdout) != MaxResult || len(end.Stderr) != maxStderr || !bytes.HasSuffix(end.Stderr, []byte("\nlast\n")) || end.Exit != 0 {
		t.Errorf("%d, %d bytes, exit %d", len(end.Stdout), len(end.Stderr), end.Exit)
	}
}

func TestStdinLargerThanThePipe(t *testing.T) {
	w, _ := sh(t, `cat >copy`)
	w.Stdin = bytes.Repeat([]byte("0123456789abcdef"), 4<<16)
	run(t, w)
	if b, err := os.ReadFile(dir(w) + "/copy"); !bytes.Equal(b, w.Stdin) {
		t.Errorf("%d of %d bytes, %v", len(b), len(w.Stdin), err)
	}
}

func TestWorkerThatDoesNotRead(t *testing.T) {
	for _, script := range []string{"exit 0", "exec <&-; exit 0", "head -c 1 >/dev/null"} {
		w, _ := sh(t, script)
		w.Stdin = make([]byte, 4<<20)
		if end := run(t, w); end.Exit != 0 {
			t.Errorf("%s: %+v", script, end)
		}
	}
}

func TestWorkerInheritsNothing(t *testing.T) {
	// A descriptor like the one that flock(1) leaves open for what it starts.
	leak, err := syscall.Dup(1)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leak)
	t.Setenv("MAIL_PASSWORD", "secret")
	w, _ := sh(t, `env; echo fds; ls /proc/$$/fd`)
	end := run(t, w)
	env, fds, _ := strings.Cut(string(end.Stdout), "fds\n")
	if got := strings.Join(strings.Fields(fds), " "); got != "0 1 2 3" {
		t.Errorf("descriptors %s", got)
	}
	for _, v := range strings.Fields(env) {
		name, _, _ := strings.Cut(v, "=")
		if !slices.Contains([]string{"PATH", "DIR", "PWD", "OLDPWD", "SHLVL", "_"}, name) {
			t.Errorf("variable %s", v)
		}
	}
}

func TestOwnSession(t *testing.T) {
	w, _ := sh(t, `echo $$; cut -d" " -f5,6 /proc/$$/stat; exec 2>/dev/null; : </dev/tty && echo tty`)
	f := strings.Fields(string(run(t, w).Stdout))
	if len(f) != 3 || f[0] != f[1] || f[0] != f[2] {
		t.Errorf("pid, group, session, tty: %q", f)
	}
}

func TestNeverStarted(t *testing.T) {
	w, _ := sh(t, "")
	w.Path = "/nonexistent/worker"
	end, err := Run(context.Background(), w, func(int) error { t.Error("it was given its lock"); return nil })
	if !errors.Is(err, os.ErrNotExist) || end.Exit != -1 {
		t.Errorf("%+v, %v", end, err)
	}
}

// gone reports whether the processes whose ids the worker wrote are dead.
func gone(t *testing.T, w *Worker, file string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir(w), file))
	if err != nil || len(b) == 0 {
		t.Fatalf("%s: %q, %v", file, b, err)
	}
	for _, word := range strings.Fields(string(b)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("process %d of %s lives: %v", pid, file, err)
		}
	}
}

// await is a shell loop that waits until files are there.
const await = `await() { for f; do until [ -s $f ]; do :; done; done; }` + "\n"

// TestNothingIsLeftRunning: every process that a worker leaves is dead when Run returns,
// even in another session or after a double fork.
func TestNothingIsLeftRunning(t *testing.T) {
	w, _ := sh(t, await+`
		sleep 1000 & echo $! >plain
		(setsid sh -c 'echo $$ >daemon; trap "" HUP TERM INT; while :; do sleep 1000; done' </dev/null >/dev/null 2>&1 &)
		(setsid sh -c '(setsid sh -c "echo \$\$ >deep; exec sleep 1000" &)' &)
		(sh -c 'echo $$ >stopped; kill -STOP $$' &)
		await plain daemon deep stopped
		echo done`)
	if end := run(t, w); string(end.Stdout) != "done\n" || end.Exit != 0 {
		t.Errorf("%+v", end)
	}
	for _, f := range []string{"plain", "daemon", "deep", "stopped"} {
		gone(t, w, f)
	}
}

func TestTimeout(t *testing.T) {
	defer func(d time.Duration) { grace = d }(grace)
	grace = 100 * time.Millisecond
	for name, script := range map[string]string{
		"sleeps":          `exec sleep 1000`,
		"ignores SIGTERM": `trap "" TERM; while :; do sleep 1000; done`,
		"stops itself":    `kill -STOP $$`,
		"a daemon too":    `(setsid sh -c 'echo $$ >pid; trap "" TERM; exec sleep 1000' &); exec sleep 1000`,
		"closes all":      `exec <&- >&- 2>&- 3>&-; exec sleep 1000`,
	} {
		w, begin, end := timedOut(t, script, name == "a daemon too")
		if end.Exit != -1 || !end.TimedOut {
			t.Errorf("%s: %+v", name, end)
		}
		if d := time.Since(begin); d < w.Timeout {
			t.Errorf("%s: ended after %s", name, d)
		}
		if name == "a daemon too" {
			gone(t, w, "pid")
		}
	}
}

// timedOut runs a worker that does not end by itself. One that writes the file pid once it is ready
// has a longer time if that was too short for it, as on a machine that is busy.
func timedOut(t *testing.T, script string, readies bool) (w *Worker, begin time.Time, end End) {
	t.Helper()
	for limit := 200 * time.Millisecond; limit < 2*time.Minute; limit *= 2 {
		w, _ = sh(t, script)
		w.Timeout, begin = limit, time.Now()
		end = run(t, w)
		if info, err := os.Stat(dir(w) + "/pid"); !readies || err == nil && info.Size() > 0 {
			break
		}
	}
	return w, begin, end
}

func TestTimeoutAsksFirst(t *testing.T) {
	defer func(d time.Duration) { grace = d }(grace)
	grace = 10 * time.Minute // on a machine that is busy
	_, _, end := timedOut(t, `trap "echo bye; exit 7" TERM; echo $$ >pid; while :; do sleep 0.01; done`, true)
	if end.Exit != 7 || string(end.Stdout) != "bye\n" || !end.TimedOut {
		t.Errorf("%+v", end)
	}
}

func TestCancel(t *testing.T) {
	defer func(d time.Duration) { grace = d }(grace)
	grace = 10 * time.Minute
	w, _ := sh(t, `trap "exit 9" TERM; : >ready; while :; do sleep 0.01; done`)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(dir(w) + "/ready"); err == nil {
				cancel()
			}
		}
	}()
	end, err := Run(ctx, w, unnoted)
	if err != nil || end.Exit != 9 || end.TimedOut {
		t.Errorf("%+v, %v", end, err)
	}
}

// TestOutputHandedOn: a process that is not a child of the worker holds its output open.
func TestOutputHandedOn(t *testing.T) {
	w, _ := sh(t, await+`echo $$ >pid; echo out; await taken`)
	var holder *os.File
	done := make(chan error, 1)
	go func() {
		for {
			b, _ := os.ReadFile(dir(w) + "/pid")
			if pid, ok := strings.CutSuffix(string(b), "\n"); ok {
				var err error
				holder, err = os.OpenFile("/proc/"+pid+"/fd/1", os.O_WRONLY, 0)
				done <- errors.Join(err, os.WriteFile(dir(w)+"/taken", []byte("x"), 0o600))
				return
			}
		}
	}()
	end := run(t, w)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	holder.Close()
	if string(end.Stdout) != "out\n" {
		t.Errorf("%+v", end)
	}
}

func TestAccount(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	t.Setenv("MAIL_PASSWORD", "secret")
	who, err := Account("")
	if err != nil || who.Credential != nil {
		t.Fatal(who, err)
	}
	env := strings.Join(who.Env, "\n")
	if !strings.Contains(env, "LC_ALL=C") || !strings.Contains(env, "PATH=") || strings.Contains(env, "secret") {
		t.Error(env)
	}
	if _, err := Account("no such user"); err == nil {
		t.Error("an account nobody has")
	}
}
