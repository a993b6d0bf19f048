package spool

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/fault"
)

// flock is the path of the file whose flock(2) serves the queue: shared for a
// consistent view, exclusive for a transition. The kernel gives it back when its
// holder dies.
type flock string

func (path flock) take(exclusive bool) (func(), error) {
	fd, err := unix.Open(string(path), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) {
		fd, err = unix.Open(string(path), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: string(path), Err: err}
	}
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	if err := wait(fd, how); err != nil {
		return nil, err
	}
	return func() { unix.Close(fd) }, nil
}

// wait takes the lock of fd, or closes fd and fails after LockTimeout. A waiting
// flock can't be called off, so it is left to its own goroutine.
func wait(fd, how int) error {
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
	case <-time.After(LockTimeout):
		go func() { <-done; unix.Close(fd) }()
		return fault.Temporaryf("run it again, or see who holds the lock: fuser -v QUEUE/lock",
			"the queue was locked by another command for %s", LockTimeout)
	}
}
