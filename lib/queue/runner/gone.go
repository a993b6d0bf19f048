package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lookEvery is how often a file is looked for where inotify(7) is not available.
var lookEvery = time.Second

// inotifyInit is inotify_init1(2), replaced in tests.
var inotifyInit = unix.InotifyInit1

// Watch tells when a file is gone, of one file at a time. It keeps one inotify(7) descriptor
// for all of them: closing one that watches waits until no processor can still see the
// watch, which takes longer than a short worker. The zero Watch is ready to use.
type Watch struct{ events *os.File }

// Gone returns a channel that closes when there is no file at path any more: it was moved
// or removed. A missing directory does not count. stop must be called before the next Gone.
func (w *Watch) Gone(path string) (gone <-chan struct{}, stop func()) {
	changes := w.changesOf(filepath.Dir(path))
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
	return c, func() {
		changes.stop()
		<-ended
		changes.end()
	}
}

// Close gives the descriptor back. The end of the process does so too.
func (w *Watch) Close() {
	if w.events != nil {
		w.events.Close()
		w.events = nil
	}
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
	wait() bool // false after stop
	stop()
	end() // after the last wait
}

func (w *Watch) changesOf(dir string) changes {
	if w.events == nil {
		if fd, err := inotifyInit(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err == nil {
			w.events = os.NewFile(uintptr(fd), "inotify")
		}
	}
	if w.events != nil {
		if e, err := watch(w.events, dir); err == nil {
			return e
		}
	}
	return ticks{time.NewTicker(lookEvery), make(chan struct{})}
}

// events are changes from inotify. Their content doesn't matter, nor whether some were
// lost or are about an earlier watch, because the file is looked for after each.
type events struct {
	*os.File
	calls syscall.RawConn
	watch int
}

func watch(f *os.File, dir string) (e events, err error) {
	e.File = f
	if e.calls, err = f.SyscallConn(); err != nil {
		return e, err
	}
	if err = f.SetReadDeadline(time.Time{}); err != nil {
		return e, err
	}
	failed := e.calls.Control(func(fd uintptr) {
		e.watch, err = unix.InotifyAddWatch(int(fd), dir, unix.IN_MOVED_FROM|unix.IN_DELETE|unix.IN_ONLYDIR)
	})
	return e, errors.Join(err, failed)
}

func (e events) wait() bool {
	_, err := e.Read(make([]byte, 4<<10))
	return err == nil
}

func (e events) stop() { e.SetReadDeadline(time.Unix(1, 0)) }

func (e events) end() {
	_ = e.calls.Control(func(fd uintptr) { _, _ = unix.InotifyRmWatch(int(fd), uint32(e.watch)) })
}

// ticks are changes from a clock.
type ticks struct {
	*time.Ticker
	done chan struct{}
}

func (t ticks) wait() bool {
	select {
	case <-t.C:
		return true
	case <-t.done:
		return false
	}
}

func (t ticks) stop() { close(t.done) }

func (t ticks) end() { t.Stop() }
