package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLockIsTheFileOfItsName: a lock on a file that lost its name keeps nobody out.
func TestLockIsTheFileOfItsName(t *testing.T) {
	s := made(t)
	name := filepath.Join(s.dir, lockFile)
	held := locked(t, name)
	first := make(chan func(), 1)
	go func() {
		unlock, err := s.lock.take()
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

// waited returns once somebody waits for the lock of a file: /proc/locks has an arrow in
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

// TestSyncedAsWritten: what is synced is the file that was written, whatever has its name
// by then.
func TestSyncedAsWritten(t *testing.T) {
	s := made(t)
	d := s.disk.(*osDisk)
	if err := d.Write("tmp/x", []byte("x"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(s.dir+"/tmp/x"), mkfifo(s.dir+"/tmp/x")); err != nil {
		t.Fatal(err)
	}
	if err := d.SyncFile("tmp/x"); err != nil {
		t.Error(err)
	}
	if err := d.SyncFile("tmp/x"); !errors.Is(err, errOdd) {
		t.Errorf("it is synced, and no other is opened: %v", err)
	}
	for i := range 3 * maxWet {
		if err := d.WriteAt(fmt.Sprintf("tmp/%d", i), 0, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.wet) > maxWet {
		t.Errorf("%d descriptors are open", len(d.wet))
	}
	for i := range 3 * maxWet {
		if err := d.SyncFile(fmt.Sprintf("tmp/%d", i)); err != nil {
			t.Error(err)
		}
	}
}

func TestVolatileMounts(t *testing.T) {
	const mounts = "21 26 0:20 / /proc rw - proc proc rw\n" +
		"300 26 0:77 / /q rw,relatime shared:1 - overlay overlay rw,lowerdir=/l,upperdir=/volatile,workdir=/w\n" +
		"30 26 0:78 / /v rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w,volatile\n" +
		"31 26 0:79 / /v rw,relatime - overlay overlay rw,fsync=volatile,lowerdir=/l\n"
	for id, want := range map[uint64]bool{21: false, 300: false, 30: true, 31: true, 3: false} {
		if got := volatileMount(mounts, id); got != want {
			t.Errorf("%d: %v", id, got)
		}
	}
}

// TestDurable: what a reboot takes is said, on the real file systems.
func TestDurable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: nothing can be mounted")
	}
	dir := t.TempDir()
	for _, sub := range []string{"l", "u", "w", "tmpfs", "volatile", "kept"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	layers := fmt.Sprintf("lowerdir=%s/l,upperdir=%[1]s/u,workdir=%[1]s/w", dir)
	for _, c := range []struct{ name, kind, data, want string }{
		{"tmpfs", "tmpfs", "", "lies on tmpfs"}, {"kept", "overlay", layers, ""}, {"volatile", "overlay", layers + ",volatile", "volatile"},
	} {
		at := filepath.Join(dir, c.name)
		if err := unix.Mount(c.kind, at, c.kind, 0, c.data); err != nil {
			t.Skipf("mount -t %s -o %s: %v", c.kind, c.data, err)
		}
		got := ""
		if err := Durable(at); err != nil {
			got = err.Error()
		}
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		if (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
