package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lookEvery is how often a file is looked for where inotify(7) is not available.
var lookEvery = time.Second

// inotifyInit is inotify_init1(2), replaced in tests.
var inotifyInit = unix.InotifyInit1

// Gone returns a channel that closes when there is no file at path any more: it was moved
// or removed. A missing directory does not count. stop must be called, and releases what
// watching takes.
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

// changes tells when a directory may have lost a file.
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

// events are changes from inotify. Their content doesn't matter, nor whether some were
// lost, because the file is looked for after each.
type events struct{ *os.File }

func (e events) wait() bool {
	_, err := e.Read(make([]byte, 64<<10))
	return err == nil
}

func (e events) end() { e.Close() }

// ticks are changes from a clock.
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
