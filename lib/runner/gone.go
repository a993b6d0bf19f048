package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lookEvery is how often a file is looked for where inotify(7) can't be had.
var lookEvery = time.Second

// inotifyInit is inotify_init1(2), but for tests.
var inotifyInit = unix.InotifyInit1

// Gone returns a channel that closes when no file is at path any more: moved or
// removed. A missing directory says nothing. stop must be called, and gives back
// all that watching takes.
func Gone(path string) (gone <-chan struct{}, stop func()) {
	changes := changesOf(filepath.Dir(path))
	c, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for !missing(path) {
			if !changes.wait() {
				return
			}
		}
		close(c)
	}()
	return c, func() { changes.end(); <-ended }
}

func missing(path string) bool {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err := os.Lstat(filepath.Dir(path))
	return err == nil
}

// changes are the moments at which a directory may have lost a file.
type changes interface {
	wait() bool // false after end
	end()
}

func changesOf(dir string) changes {
	fd, err := inotifyInit(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err == nil {
		if _, err = unix.InotifyAddWatch(fd, dir, unix.IN_MOVED_FROM|unix.IN_DELETE|unix.IN_ONLYDIR); err == nil {
			return events{os.NewFile(uintptr(fd), "inotify")}
		}
		unix.Close(fd)
	}
	return ticks{time.NewTicker(lookEvery), make(chan struct{})}
}

// events come from inotify. What they say doesn't matter, nor whether some got lost.
type events struct{ *os.File }

func (e events) wait() bool {
	_, err := e.Read(make([]byte, 64<<10))
	return err == nil
}

func (e events) end() { e.Close() }

// ticks come from a clock.
type ticks struct {
	*time.Ticker
	stop chan struct{}
}

func (t ticks) wait() bool {
	select {
	case <-t.C:
		return true
	case <-t.stop:
		return false
	}
}

func (t ticks) end() { t.Stop(); close(t.stop) }
