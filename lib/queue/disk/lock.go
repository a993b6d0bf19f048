package disk

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked means that another command has the lock.
var ErrLocked = errors.New("another command holds the lock")

// Lock is a file whose flock(2) every command takes that changes something. The kernel
// releases it when the process that holds it dies. The file may be replaced while others
// wait for it.
type Lock struct {
	Wait time.Duration   // how long Take and Share wait; 0: as long as it takes
	Done <-chan struct{} // closed: they wait no longer

	dir  *Dir
	name string
}

// Lock returns the lock of a file, which is made when it is taken.
func (d *Dir) Lock(name string, wait time.Duration) *Lock {
	return &Lock{Wait: wait, dir: d, name: name}
}

// Take takes the lock. It returns ErrLocked if it does not get the lock in time, and
// context.Canceled if Done was closed. unlock gives the lock back.
func (l *Lock) Take() (unlock func(), err error) { return l.take(l.file, unix.LOCK_EX) }

// Share takes the lock together with other commands that share it. It does not make the
// file.
func (l *Lock) Share() (unlock func(), err error) {
	return l.take(func() (int, error) { return l.dir.openInPlace(l.name, unix.O_RDONLY) }, unix.LOCK_SH)
}

func (l *Lock) take(open func() (int, error), how int) (unlock func(), err error) {
	fd, err := open()
	if err != nil {
		return nil, err
	}
	if err := flock(fd, how, l.Wait, l.Done); err != nil {
		return nil, err
	}
	if !l.still(fd) {
		unix.Close(fd)
		return l.take(open, how)
	}
	return func() { unix.Close(fd) }, nil
}

// Try is Take without waiting.
func (l *Lock) Try() (unlock func(), err error) {
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
func (l *Lock) file() (int, error) {
	fd, err := l.dir.openInPlace(l.name, unix.O_RDWR|unix.O_CREAT)
	if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) {
		// A lock file that is there can also be locked on a disk that can't be written.
		if again, err2 := l.dir.openInPlace(l.name, unix.O_RDONLY); err2 == nil {
			fd, err = again, nil
		}
	}
	return fd, err
}

// still reports whether the locked file still has the name of the lock. If another file
// was put in its place meanwhile, another command would lock that one.
func (l *Lock) still(fd int) bool {
	named, err := l.dir.Stat(l.name)
	var is unix.Stat_t
	return err == nil && unix.Fstat(fd, &is) == nil && idOf(&is) == named.ID
}

// flock takes the flock(2) of a descriptor, shared or exclusive as how says. It gives up
// after wait, if that is not 0, with ErrLocked, and when done is closed, with
// context.Canceled; then it closes the descriptor. A flock that waits can't be called off,
// so it is left to its own goroutine.
func flock(fd, how int, wait time.Duration, done <-chan struct{}) error {
	if unix.Flock(fd, how|unix.LOCK_NB) == nil {
		return nil
	}
	locked := make(chan error, 1)
	go func() {
		err := unix.EINTR
		for err == unix.EINTR {
			err, _ = unix.Flock(fd, how).(unix.Errno)
		}
		if err != 0 {
			locked <- err
			return
		}
		locked <- nil
	}()
	var late <-chan time.Time
	if wait > 0 {
		late = time.After(wait)
	}
	select {
	case err := <-locked:
		if err != nil {
			unix.Close(fd)
		}
		return err
	case <-done:
		go abandon(fd, locked)
		return context.Canceled
	case <-late:
		go abandon(fd, locked)
		return ErrLocked
	}
}

// abandon closes fd after the flock that waits on it has ended. If fd were closed before,
// the flock would still wait, and the number could go to another file.
func abandon(fd int, locked <-chan error) {
	if err := <-locked; !errors.Is(err, unix.EBADF) {
		unix.Close(fd)
	}
}
