package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/disk"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// original is a queue to make snapshots of, which are removed in the end.
func original(t *testing.T) *Spool {
	t.Helper()
	s := made(t)
	t.Cleanup(func() {
		err := filepath.WalkDir(filepath.Dir(s.dir), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				err = os.Chmod(path, 0o700)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	return s
}

// copyOf makes a snapshot beside the queue and returns where.
func copyOf(t *testing.T, s *Spool) string {
	t.Helper()
	dir := s.dir + "-copy"
	if err := s.Snapshot(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// leftovers are the directories under a temporary name beside a queue.
func leftovers(t *testing.T, s *Spool) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(filepath.Dir(s.dir), ".*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestSnapshot(t *testing.T) {
	s := original(t)
	do(t, s, add(mails(1, 5)...), add(effect(1)), approve, start(""), finish(queue.End{}), prune, start(""), finish(queue.End{Result: []byte("done")}), grant("a1"), brake(audit.Held))
	defer syscall.Umask(syscall.Umask(0o077))
	c := opened(t, copyOf(t, s))
	whole(t, c)
	err := filepath.Walk(c.dir, func(path string, info os.FileInfo, err error) error {
		if mode := info.Mode(); info.IsDir() && mode.Perm() != 0o550 || !info.IsDir() && mode.Perm() != 0o440 {
			t.Errorf("%s has mode %s", path, mode)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, st := range task.States {
		if got, want := strings.Join(in(t, c, st), " "), strings.Join(in(t, s, st), " "); got != want {
			t.Errorf("%s: %s, want %s", st, got, want)
		}
	}
	for _, name := range []string{approvalDir, grantDir, sessionDir, positionDir, workersDir, tmpDir, lockFile} {
		if _, err := os.Lstat(filepath.Join(c.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it has %s: %v", name, err)
		}
	}
	err = queue.Update(c, func(*queue.Tx) error { t.Error("a snapshot was opened for changes"); return nil })
	if err == nil || fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
	if left := leftovers(t, s); len(left) > 0 {
		t.Error(left)
	}
}

// TestSnapshotWhileOthersWork: each copy is one moment's picture.
func TestSnapshotWhileOthersWork(t *testing.T) {
	const tasks = 20
	s := original(t)
	do(t, s, add(mails(1, tasks)...))
	stopped := moving(t, s, 4)
	for range 20 {
		c, err := Open(copyOf(t, s))
		if err != nil {
			t.Fatal(err)
		}
		whole(t, c)
		n := 0
		for _, st := range task.States {
			n += len(in(t, c, st))
		}
		if n != tasks {
			t.Errorf("%d of %d tasks", n, tasks)
		}
		c.Close()
	}
	stopped()
	whole(t, s)
	if left := leftovers(t, s); len(left) > 0 {
		t.Error(left)
	}
}

// TestSnapshotReplacedWhileRead: a reader reads an old one to its end, and it is removed
// once nobody does.
func TestSnapshotReplacedWhileRead(t *testing.T) {
	s := original(t)
	do(t, s, add(mails(1, 3)...))
	old := opened(t, copyOf(t, s))
	do(t, s, start(""), finish(queue.End{}))
	copyOf(t, s)
	if left := leftovers(t, s); len(left) != 1 {
		t.Errorf("%v is left for its reader", left)
	}
	err := old.View(func(v store.View) error {
		n := 0
		err := v.Each(store.On(task.Scheduled), func(id string, _ time.Time) (bool, error) {
			n++
			_, err := queue.Load(v, task.Scheduled, id)
			return true, err
		})
		if n != 3 {
			t.Errorf("%d of 3 tasks", n)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	old.Close()
	copyOf(t, s)
	if left := leftovers(t, s); len(left) > 0 {
		t.Errorf("%v is left for nobody", left)
	}
}

// fullDisk fails every read after some: to the one who copies that looks like a
// disk that is full.
type fullDisk struct {
	disk.Disk
	left int
}

func (d *fullDisk) ReadAt(name string, off int64, b []byte) (int, error) {
	if d.left--; d.left < 0 {
		return 0, &fs.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
	}
	return d.Disk.ReadAt(name, off, b)
}

// TestSnapshotFails: whatever stood there stands there, and nothing else.
func TestSnapshotFails(t *testing.T) {
	s := original(t)
	do(t, s, add(mails(1, 3)...))
	dir := s.dir + "-copy"
	whereof := s.disk
	for _, there := range []bool{false, true} {
		failed := 0
		for n := 0; ; n++ {
			s.disk = &fullDisk{Disk: whereof, left: n}
			s.log = begin(s.disk)
			err := s.Snapshot(dir)
			s.disk, s.log = whereof, begin(whereof)
			if err == nil {
				break
			}
			failed++
			if fault.KindOf(err) != fault.Temporary {
				t.Fatal(err)
			}
			if left := leftovers(t, s); len(left) > 0 {
				t.Fatal(left)
			}
			if _, err := os.Stat(dir); (err == nil) != there {
				t.Fatalf("after %d reads: %v", n, err)
			}
		}
		if failed < 8 {
			t.Errorf("it failed %d times", failed)
		}
		whole(t, opened(t, dir))
	}
}
