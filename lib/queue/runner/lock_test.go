package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestLocks(t *testing.T) {
	d := Dir(t.TempDir())
	if !d.Dead(id) {
		t.Error("a task nobody took is not dead")
	}
	locks, err := d.Take(id)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := d.Take(id); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("taken twice: %v, %v", again, err)
	}
	if d.Dead(id) {
		t.Error("dead while both are held")
	}
	if got := d.Runners(); !slices.Equal(got, []int{os.Getpid()}) {
		t.Errorf("runners %v", got)
	}
	if pid, err := d.Runner(id); pid != os.Getpid() || err != nil {
		t.Errorf("runner %d, %v", pid, err)
	}
	for _, text := range []string{"", "0\n", "-4\n", "7 8\n", strings.Repeat("1", 2<<10)} {
		if err := os.WriteFile(d.path(id, "runner"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if pid, err := d.Runner(id); err == nil {
			t.Errorf("%.20q: runner %d", text, pid)
		}
	}
	locks.Drop()
	if !d.Dead(id) || len(d.Runners()) > 0 {
		t.Error("not dead after Drop")
	}
	if pid, err := d.Runner(id); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("runner after Drop: %d, %v", pid, err)
	}
	if left, _ := os.ReadDir(string(d)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestWorkerOutlivesItsRunner: the lock that a worker inherited counts for it, and for its
// children, until the last of them is gone.
func TestWorkerOutlivesItsRunner(t *testing.T) {
	d := Dir(t.TempDir())
	locks, err := d.Take(id)
	if err != nil {
		t.Fatal(err)
	}
	// The child of the shell holds the lock when the shell is gone, and is ours then.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	r, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "cat <&4 >/dev/null 2>&1 & echo $!")
	cmd.ExtraFiles = []*os.File{locks.Worker(), r}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	locks.Worker().Close()
	locks.runner.Close() // as if the runner had been killed
	if d.Dead(id) || len(d.Runners()) > 0 {
		t.Errorf("dead %v, runners %v", d.Dead(id), d.Runners())
	}
	if again, err := d.Take(id); err == nil {
		t.Errorf("taken from under a worker: %v", again)
	}
	end.Close()
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	if !d.Dead(id) {
		t.Error("not dead after the last one")
	}
}

// TestWorkerUnlocks: a worker can give up what it inherited. Then the runner's lock counts.
func TestWorkerUnlocks(t *testing.T) {
	d := Dir(t.TempDir())
	locks, err := d.Take(id)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := sh(t, await+"flock -u 3; echo x >unlocked; await seen")
	w.Lock = locks.Worker()
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := os.Stat(dir(w) + "/unlocked"); err == nil {
				dead := d.Dead(id)
				done <- os.WriteFile(dir(w)+"/seen", []byte(strconv.FormatBool(dead)), 0o600)
				return
			}
		}
	}()
	if end, err := Run(context.Background(), w, locks.Handed); err != nil || end.Exit != 0 {
		t.Errorf("%+v, %v", end, err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(dir(w) + "/seen"); string(b) != "false" {
		t.Errorf("dead: %s", b)
	}
	locks.Drop()
}

// TestTakeAmongProbers: processes that only ask can't make Take fail, and while a lock has
// an owner, no other gets it.
func TestTakeAmongProbers(t *testing.T) {
	d := Dir(t.TempDir())
	var probers, takers sync.WaitGroup
	done := make(chan struct{})
	for range 8 {
		probers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					d.Runners()
					d.Dead(id)
				}
			}
		})
	}
	var owners, taken atomic.Int64
	for range 4 {
		takers.Go(func() {
			for range 50 {
				locks, err := d.Take(id)
				if errors.Is(err, unix.EWOULDBLOCK) {
					continue // a rival has it; below there is none
				}
				if err != nil {
					t.Error(err)
					return
				}
				if owners.Add(1) != 1 {
					t.Error("two owners")
				}
				taken.Add(1)
				runtime.Gosched()
				owners.Add(-1)
				locks.Drop()
			}
		})
	}
	takers.Wait()
	// Without a rival it never fails.
	for range 50 {
		locks, err := d.Take(id)
		if err != nil {
			t.Fatal(err)
		}
		locks.Drop()
	}
	close(done)
	probers.Wait()
	if taken.Load() == 0 {
		t.Error("nobody got it")
	}
}

// TestTakeWithoutTime: a process that got no time until the time for probers was over tries again.
func TestTakeWithoutTime(t *testing.T) {
	defer func(d time.Duration, n int) { probing, probes = d, n }(probing, probes)
	probing, probes = 0, 1<<30
	d := Dir(t.TempDir())
	f, err := d.open(id, "runner", os.O_RDONLY|os.O_CREATE)
	if err == nil {
		defer f.Close()
		err = flock(f, unix.LOCK_SH)
	}
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan error)
	go func() {
		locks, err := d.Take(id)
		if err == nil {
			locks.Drop()
		}
		taken <- err
	}()
	select {
	case err := <-taken:
		t.Fatalf("a prober has it: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := flock(f, unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if err := <-taken; err != nil {
		t.Error(err)
	}
}

// TestLockWithoutItsName: a lock on a file that was removed does not count.
func TestLockWithoutItsName(t *testing.T) {
	d := Dir(t.TempDir())
	old, err := d.Take(id)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(d.path(id, "runner"))
	os.Remove(d.path(id, "worker"))
	if !d.Dead(id) {
		t.Error("a lock without a name counts")
	}
	locks, err := d.Take(id)
	if err != nil || d.Dead(id) {
		t.Fatal(err)
	}
	old.Worker().Close()
	old.runner.Close()
	locks.Drop()
}

func TestWaitGone(t *testing.T) {
	d := Dir(t.TempDir())
	if !d.WaitGone(id, 0) {
		t.Error("nobody is there")
	}
	locks, err := d.Take(id)
	if err != nil {
		t.Fatal(err)
	}
	if d.WaitGone(id, 10*time.Millisecond) {
		t.Error("gone while both are held")
	}
	waited := make(chan bool)
	go func() { waited <- d.WaitGone(id, 10*time.Minute) }()
	locks.Drop()
	if !<-waited {
		t.Error("not gone after Drop")
	}
}

// TestWorkerCantWriteItsLock: only the runner can write what the lock file says.
func TestWorkerCantWriteItsLock(t *testing.T) {
	w, locks := sh(t, `echo 1 >&3`)
	end, err := Run(context.Background(), w, locks.Handed)
	if err != nil || end.Exit == 0 {
		t.Errorf("%+v, %v", end, err)
	}
	if _, err := locks.dir.leader(id); err != nil {
		t.Error(err)
	}
}

// TestSeen: what was found out before applies to the worker that was there then. The locks
// are asked again.
func TestSeen(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "[q]", "workers")) // no pattern
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("/bin/true")
	gone.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	lives := exec.Command("/bin/cat")
	lives.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := lives.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	const other = "00000000000000000000000000000002"
	for id, cmd := range map[string]*exec.Cmd{id: gone, other: lives} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		who, err := leaderOf(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		for which, text := range map[string]string{"worker": who.String(), "runner": ""} {
			if err := os.WriteFile(d.path(id, which), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	gone.Wait()
	dead := d.Seen()
	in.Close()
	lives.Wait()
	if !dead(id) || dead(other) || !d.Dead(other) || !dead("of nobody") {
		t.Errorf("gone %v, gone since %v, %v, never there %v", dead(id), dead(other), d.Dead(other), dead("of nobody"))
	}
	locks, err := d.Take(id)
	if err != nil {
		t.Fatal(err)
	}
	if dead(id) || !slices.Equal(d.Runners(), []int{os.Getpid()}) {
		t.Errorf("started again: dead %v, runners %v", dead(id), d.Runners())
	}
	locks.Drop()
	late, err := leaderOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.path(id, "worker"), []byte(late.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if dead(id) {
		t.Error("a worker that came later is dead")
	}
}
