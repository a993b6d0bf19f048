package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// peak counts the processes that a sweep and a reaper found at once.
func peak(t *testing.T) *atomic.Int64 {
	var most atomic.Int64
	testOnlyRound = func(found int) { most.Store(max(most.Load(), int64(found))) }
	t.Cleanup(func() { testOnlyRound = func(int) {} })
	return &most
}

// TestForkChain: each process starts the next one and ends. If a chain does not come to its
// own end, the sweep was faster. On a busy machine all of 50 chains may come to their end,
// which is logged, but each of them is gone when Run returns.
func TestForkChain(t *testing.T) {
	for _, c := range []struct {
		name       string
		most, free int
	}{
		{"group 10000 1", 2000, 0}, {"setsid 10000 1", 2000, 0}, {"double 5000 1", 2000, 0},
		{"group 250 50", 50 * 250, 50}, {"setsid 250 50", 50 * 250, 50}, {"double 125 50", 2 * 50 * 125, 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			most := peak(t)
			begin := time.Now()
			end := run(t, helper(t, "chain "+c.name))
			free := bytes.Count(end.Stderr, []byte("free"))
			t.Logf("%s, at most %d processes, %d chains came to their end", time.Since(begin), most.Load(), free)
			if free > c.free || most.Load() > int64(c.most) {
				t.Errorf("want at most %d processes, %d chains", c.most, c.free)
			}
		})
	}
}

// TestOrphansOfAWorkingWorker: orphans do not stay zombies until the worker ends. The
// worker's own status is not lost.
func TestOrphansOfAWorkingWorker(t *testing.T) {
	w, _ := sh(t, `
		for i in 1 2 3 4 5 6 7 8 9; do (setsid sh -c 'echo $$ >>pids' &); done
		until [ "$(wc -l <pids)" = 9 ]; do :; done 2>/dev/null
		for pid in $(cat pids); do while kill -0 $pid; do :; done; done 2>/dev/null
		echo reaped; exit 7`)
	w.Timeout = 2 * time.Minute
	if end := run(t, w); string(end.Stdout) != "reaped\n" || end.Exit != 7 || end.TimedOut {
		t.Errorf("%+v", end)
	}
	gone(t, w, "pids")
}

// TestOthersChildren: a child of this process that no worker left is neither killed nor
// reaped.
func TestOthersChildren(t *testing.T) {
	alive, dead := exec.Command("cat"), exec.Command("sh", "-c", "exit 9")
	stdin, err := alive.StdinPipe()
	if err = errors.Join(err, alive.Start(), dead.Start()); err != nil {
		t.Fatal(err)
	}
	<-zombie(dead.Process.Pid)
	w, _ := sh(t, `(setsid sleep 1000 &); (sleep 1000 &)`)
	run(t, w)
	stdin.Close()
	if err := alive.Wait(); err != nil {
		t.Error(err)
	}
	if dead.Wait(); dead.ProcessState.ExitCode() != 9 {
		t.Error(dead.ProcessState)
	}
}

// TestNoListsOfChildren: a kernel without such lists shows a chain too late to break it, but
// nothing is left all the same.
func TestNoListsOfChildren(t *testing.T) {
	defer func(f func() bool) { listsChildren = f }(listsChildren)
	listsChildren = func() bool { return false }
	run(t, helper(t, "chain setsid 1000 1"))
	TestNothingIsLeftRunning(t)
}

// TestNotOursToKill: a process that may not be signalled, such as a child of sudo, is named
// and does not hold the queue up.
func TestNotOursToKill(t *testing.T) {
	usual := patience
	grace = 10 * time.Millisecond
	defer func() { grace, patience = Grace, usual }()
	for name, script := range map[string]string{
		"child":  `(setsid sh -c 'echo $$ >pid; exec sleep 1000' &); await pid; echo out`,
		"worker": `echo $$ >pid; echo out; echo x >$READY; exec sleep 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			ready, back := fifo(t), make(chan struct{})
			go func() {
				ready.Read(make([]byte, 1))
				close(back)
			}()
			w, _ := sh(t, await+script)
			w.Env, w.Gone = append(w.Env, "READY="+ready.Name()), back
			var immune int
			is := func(pid int) bool {
				b, _ := os.ReadFile(dir(w) + "/pid")
				fmt.Sscan(string(b), &immune)
				return pid == immune
			}
			forbid(t, is)
			patience = 200 * time.Millisecond
			end, err := Run(context.Background(), w, unnoted)
			patience = usual // a busy machine takes its time
			later, _ := sh(t, "(setsid sleep 1000 &)")
			if _, err := Run(context.Background(), later, unnoted); err != nil {
				t.Errorf("the next one is blamed: %v", err)
			}
			allow()
			if !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), fmt.Sprintf("process %d is left", immune)) {
				t.Errorf("%v", err)
			}
			if string(end.Stdout) != "out\n" || (end.Exit == 0) != (name == "child") {
				t.Errorf("%+v", end)
			}
			if err := sweep(nil, time.Now().Add(10*time.Minute)); err != nil {
				t.Error(err)
			}
			gone(t, w, "pid")
		})
	}
}

// forbid makes signals to some processes fail, until allow.
func forbid(t *testing.T, is func(pid int) bool) {
	sent, killed := send, kill
	send = func(pid, fd int, sig unix.Signal) error {
		if is(pid) {
			return unix.EPERM
		}
		return sent(pid, fd, sig)
	}
	kill = func(pid int, sig unix.Signal) error {
		if is(-pid) {
			return unix.EPERM
		}
		return killed(pid, sig)
	}
	allow = func() { send, kill = sent, killed }
	t.Cleanup(func() { allow() })
}

var allow func()
