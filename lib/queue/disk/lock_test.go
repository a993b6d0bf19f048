package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLockIsTheFileOfItsName: a lock on a file that lost its name locks nothing.
func TestLockIsTheFileOfItsName(t *testing.T) {
	d := opened(t)
	name := filepath.Join(d.path, "lock")
	held := locked(t, name)
	first := make(chan func(), 1)
	go func() {
		unlock, err := d.Lock("lock", time.Minute).Take()
		if err != nil {
			t.Error(err)
		}
		first <- unlock
	}()
	waited(t, name)
	if err := errors.Join(os.Remove(name), os.WriteFile(name, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	unix.Close(held)
	unlock := <-first
	defer unlock()
	again, err := unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(again)
	if err := unix.Flock(again, unix.LOCK_EX|unix.LOCK_NB); err != unix.EWOULDBLOCK {
		t.Errorf("the lock of that name is free: %v", err)
	}
}

func locked(t *testing.T, name string) (fd int) {
	t.Helper()
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(fd, unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return fd
}

// waited returns once another command waits for the lock of a file: /proc/locks has an arrow in
// its line.
func waited(t *testing.T, name string) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	for {
		b, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, "->") && strings.Contains(line, fmt.Sprintf(":%d ", st.Ino)) {
				return
			}
		}
		runtime.Gosched()
	}
}

// TestLockIsGivenUp: a lock that another command has is waited for as long as was said.
func TestLockIsGivenUp(t *testing.T) {
	d := opened(t)
	unlock, err := d.Lock("lock", 0).Take()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lock("lock", 0).Try(); !errors.Is(err, ErrLocked) {
		t.Errorf("tried: %v", err)
	}
	for what, take := range map[string]func(*Lock) (func(), error){"taken": (*Lock).Take, "shared": (*Lock).Share} {
		if _, err := take(d.Lock("lock", time.Nanosecond)); !errors.Is(err, ErrLocked) {
			t.Errorf("%s in time: %v", what, err)
		}
		done := make(chan struct{})
		close(done)
		l := d.Lock("lock", 0)
		l.Done = done
		if _, err := take(l); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, and called off: %v", what, err)
		}
	}
	unlock()
	if unlock, err = d.Lock("lock", 0).Take(); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// TestShare: those who share a lock keep out the others alone, and make no file.
func TestShare(t *testing.T) {
	d := opened(t)
	if _, err := d.Lock("lock", 0).Share(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is none: %v", err)
	}
	if err := d.WriteAt("lock", 0, nil); err != nil {
		t.Fatal(err)
	}
	one, err := d.Lock("lock", 0).Share()
	if err != nil {
		t.Fatal(err)
	}
	two, err := d.Lock("lock", 0).Share()
	if err != nil {
		t.Fatal(err)
	}
	one()
	if _, err := d.Lock("lock", 0).Try(); !errors.Is(err, ErrLocked) {
		t.Errorf("one shares it: %v", err)
	}
	two()
	unlock, err := d.Lock("lock", 0).Try()
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
