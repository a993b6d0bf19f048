package spool

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/fault"
)

// ErrLocked is the error of a lock that somebody else kept for LockTimeout.
var ErrLocked = errors.New("the queue was locked by another command")

// flock is the file whose flock(2) serves the queue: it is taken for a transition,
// and never by a reader. The kernel gives it back when its holder dies.
type flock struct {
	path string
	disk *osDisk         // of which path is the lock; nil: it is opened by its path
	done <-chan struct{} // closed: nobody wants to wait any more
}

func (l *flock) take() (unlock func(), err error) {
	fd, err := l.file()
	if err != nil {
		return nil, err
	}
	if err := l.wait(fd, unix.LOCK_EX); err != nil {
		return nil, err
	}
	if !l.still(fd) {
		unix.Close(fd)
		return l.take()
	}
	return func() { unix.Close(fd) }, nil
}

func (l *flock) try() (unlock func(), err error) {
	fd, err := l.file()
	if err != nil {
		return nil, err
	}
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil || !l.still(fd) {
		unix.Close(fd)
		return nil, ErrLocked
	}
	return func() { unix.Close(fd) }, nil
}

// file opens the lock file.
func (l *flock) file() (int, error) {
	fd, err := l.open(unix.O_RDWR | unix.O_CREAT)
	if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) {
		// What is there can be locked on a disk that can't be written, too.
		if again, err2 := l.open(unix.O_RDONLY); err2 == nil {
			fd, err = again, nil
		}
	}
	return fd, err
}

// still reports whether the file that is locked has the name of the lock: another command
// would lock one that was put in its place meanwhile.
func (l *flock) still(fd int) bool {
	dirfd, name := unix.AT_FDCWD, l.path
	if l.disk != nil {
		dirfd, name = l.disk.dirs[""], lockFile
	}
	var is, named unix.Stat_t
	return unix.Fstat(fd, &is) == nil && unix.Fstatat(dirfd, name, &named, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		is.Ino == named.Ino && is.Dev == named.Dev
}

func (l *flock) open(flags int) (int, error) {
	if l.disk != nil {
		return l.disk.open(lockFile, flags)
	}
	fd, err := unix.Open(l.path, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: l.path, Err: err}
	}
	return fd, nil
}

// wait takes the lock of fd, or gives it up when done is closed or after LockTimeout. A waiting
// flock can't be called off, so it is left to its own goroutine.
func (l *flock) wait(fd, how int) error {
	if unix.Flock(fd, how|unix.LOCK_NB) == nil {
		return nil
	}
	done := make(chan error, 1)
	go func() {
		err := unix.EINTR
		for err == unix.EINTR {
			err, _ = unix.Flock(fd, how).(unix.Errno)
		}
		if err != 0 {
			done <- err
			return
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			unix.Close(fd)
		}
		return err
	case <-l.done:
		go abandon(fd, done)
		return context.Canceled
	case <-time.After(LockTimeout):
		go abandon(fd, done)
		return errTooLong()
	}
}

func errTooLong() error {
	return fault.Temporaryf("run it again, or see who holds the lock: fuser -v QUEUE/lock", "%w for %s", ErrLocked, LockTimeout)
}

// abandon closes fd once the flock that waits on it has ended: what was closed
// before would still be waited for, and its number given to another file.
func abandon(fd int, done <-chan error) {
	if err := <-done; !errors.Is(err, unix.EBADF) {
		unix.Close(fd)
	}
}
