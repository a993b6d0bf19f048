package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pulse/lib/fault"
)

// beside is a directory under a temporary name next to the one it is made for. Its
// maker holds an exclusive flock(2) on it, and so does who removes it; who reads a
// snapshot holds a shared one.
type beside struct {
	path string // empty: it has got its name
	fd   int
}

// makeBeside makes one, after it removed those that nobody uses any more.
func makeBeside(parent, base string) (*beside, error) {
	unlock, err := lockParent(parent) // a new one is not locked at once
	if err != nil {
		return nil, err
	}
	defer unlock()
	prefix := "." + base + ".snapshot-"
	if err := sweepBeside(parent, prefix); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	return lockDir(path, unix.LOCK_EX)
}

func lockParent(dir string) (unlock func(), err error) {
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = flockOf(fd, unix.LOCK_EX)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: dir, Err: err}
	}
	return func() { unix.Close(fd) }, nil
}

// maxRead is how many replaced snapshots are left to those who still read them.
const maxRead = 2

// sweepBeside removes what a command that died left, and the replaced snapshots
// that nobody reads any more, or too many are read of.
func sweepBeside(parent, prefix string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	read := 0
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(parent, e.Name())
		b, err := lockDir(path, unix.LOCK_EX)
		if err != nil {
			if b, err = lockDir(path, unix.LOCK_SH); err != nil {
				continue // it is being made
			}
			if read++; read <= maxRead {
				unix.Close(b.fd)
				continue
			}
		}
		b.remove()
	}
	return nil
}

func lockDir(path string, how int) (*beside, error) {
	fd, err := unix.Open(path, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if err := unix.Flock(fd, how|unix.LOCK_NB); err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return &beside{path, fd}, nil
}

// handTo makes all that will lie in the directory that group's.
func (b *beside) handTo(g Group) error {
	if g.Name == "" {
		return nil
	}
	if err := give(b.path, g.ID, fs.ModeSetgid|0o700); err != nil {
		return fault.Usagef("usermod -aG "+g.Name+" USER, and log in again (or run this as the queue's owner)", "the snapshot is for the group %s: %w", g.Name, err)
	}
	return nil
}

// seal makes the copy durable, and takes the right to write it away.
func (b *beside) seal() error {
	if err := eachDir(b.path, func(dir string) error { return os.Chmod(dir, snapshotDirMode) }); err != nil {
		return err
	}
	if err := unix.Syncfs(b.fd); err != nil {
		return &fs.PathError{Op: "syncfs", Path: b.path, Err: err}
	}
	return nil
}

// swap gives the directory its name, and removes the snapshot that had it unless
// somebody reads it.
func (b *beside) swap(name string) error {
	err := unix.Renameat2(unix.AT_FDCWD, b.path, unix.AT_FDCWD, name, unix.RENAME_NOREPLACE)
	if err == nil {
		b.path = ""
		return nil
	}
	if err == unix.EEXIST {
		if err := replaceable(name); err != nil { // it may have changed meanwhile
			return err
		}
		err = unix.Renameat2(unix.AT_FDCWD, b.path, unix.AT_FDCWD, name, unix.RENAME_EXCHANGE)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: b.path, New: name, Err: err}
	}
	if old, err := lockDir(b.path, unix.LOCK_EX); err == nil {
		old.remove()
	}
	b.path = ""
	return nil
}

// remove removes what stands under the temporary name, if anything does. What it
// can't remove, the next one does.
func (b *beside) remove() {
	if b.path != "" {
		_ = eachDir(b.path, func(dir string) error { return os.Chmod(dir, 0o700) })
		os.RemoveAll(b.path)
	}
	unix.Close(b.fd)
}

// eachDir calls fn for a directory and those in it, which have none in them. Links
// are not followed.
func eachDir(root string, fn func(dir string) error) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, fn(filepath.Join(root, e.Name())))
		}
	}
	return errors.Join(err, fn(root))
}

// read takes the lock of a snapshot, which is the descriptor of its directory: it
// does not change, but it may be replaced, and then removed.
func read(root int) (fd int, err error) {
	fd, err = unix.Openat(root, ".", unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := flockOf(fd, unix.LOCK_SH); err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(fd, snapshotFile, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		unix.Close(fd)
		return -1, fault.Temporaryf("run it again", "the snapshot was replaced meanwhile")
	}
	return fd, nil
}
