package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Dir is the directory of a queue that holds the locks, two files a task.
type Dir string

// Locks are the two locks of a task that is being run.
type Locks struct {
	runner, Worker *os.File
}

func (d Dir) path(id, which string) string { return filepath.Join(string(d), id+"."+which) }

// Take takes both locks of a task. It fails if anybody holds one of them.
func (d Dir) Take(id string) (*Locks, error) {
	runner, err := d.lock(id, "runner")
	if err != nil {
		return nil, err
	}
	worker, err := d.lock(id, "worker")
	if err != nil {
		runner.Close()
		return nil, err
	}
	// For people, and for Runners.
	runner.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return &Locks{runner, worker}, nil
}

func (d Dir) lock(id, which string) (*os.File, error) {
	f, err := os.OpenFile(d.path(id, which), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return f, nil
}

// Dead reports whether neither a runner nor a worker of the task lives. Anything
// that can't be told counts as alive.
func (d Dir) Dead(id string) bool {
	return d.free(id, "runner") && d.free(id, "worker")
}

func (d Dir) free(id, which string) bool {
	f, err := os.OpenFile(d.path(id, which), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// Handed gives up this process's copy of the worker's lock, once a worker has one.
func (l *Locks) Handed() { l.Worker.Close() }

// Drop removes the locks of a task that is not running any more.
func (d Dir) Drop(id string, l *Locks) {
	os.Remove(d.path(id, "worker"))
	os.Remove(d.path(id, "runner"))
	l.Worker.Close()
	l.runner.Close()
}

// Runners returns the process ids of the runners that hold a lock.
func (d Dir) Runners() []int {
	names, _ := filepath.Glob(d.path("*", "runner"))
	var list []int
	for _, name := range names {
		id := strings.TrimSuffix(filepath.Base(name), ".runner")
		if d.free(id, "runner") {
			continue
		}
		b, _ := os.ReadFile(name)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			list = append(list, pid)
		}
	}
	return list
}
