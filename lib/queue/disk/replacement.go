package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Replacement is a directory under a temporary name, next to the one that it will replace
// in one step. Its maker holds an exclusive flock(2) on it, and so does a command that
// removes it. Readers of the directory hold a shared one (Pin).
type Replacement struct {
	Path string // empty: it has its final name, or is gone

	fd int
}

// maxRead is how many replaced directories are left to commands that still read them.
const maxRead = 2

// NewReplacement makes a directory in parent, under a name that begins with prefix. It
// first removes those with that prefix that are not used any more. It fails with ErrLocked
// if another command does the same for longer than wait.
func NewReplacement(parent, prefix string, wait time.Duration) (*Replacement, error) {
	fd, err := openDir(parent)
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: parent, Err: err}
	}
	if err := flock(fd, unix.LOCK_EX, wait, nil); err != nil { // a new one is not locked at once
		return nil, &fs.PathError{Op: "lock", Path: parent, Err: err}
	}
	defer unix.Close(fd)
	if err := sweep(parent, prefix); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	return lockDir(path, unix.LOCK_EX)
}

// sweep removes what a command that died left, and the replaced directories that are not
// read any more. Those that are still read go, too, once there are more than maxRead.
func sweep(parent, prefix string) error {
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
		r, err := lockDir(path, unix.LOCK_EX)
		if err != nil {
			if r, err = lockDir(path, unix.LOCK_SH); err != nil {
				continue // it is being made
			}
			if read++; read <= maxRead {
				unix.Close(r.fd)
				continue
			}
		}
		r.Remove()
	}
	return nil
}

func lockDir(path string, how int) (*Replacement, error) {
	fd, err := unix.Open(path, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if err := unix.Flock(fd, how|unix.LOCK_NB); err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return &Replacement{path, fd}, nil
}

// HandTo gives the directory to a group, and with it all that will be made in it.
func (r *Replacement) HandTo(gid int) error {
	if err := os.Lchown(r.Path, -1, gid); err != nil {
		return err
	}
	return os.Chmod(r.Path, fs.ModeSetgid|0o700)
}

// Seal gives the directory and those in it a mode, and syncs all of it.
func (r *Replacement) Seal(mode fs.FileMode) error {
	if err := eachDir(r.Path, func(dir string) error { return os.Chmod(dir, mode) }); err != nil {
		return err
	}
	if err := unix.Syncfs(r.fd); err != nil {
		return &fs.PathError{Op: "syncfs", Path: r.Path, Err: err}
	}
	return nil
}

// Swap gives the directory its name, durably. What stands there is replaced if may returns
// nil for it, and removed unless a command reads it.
func (r *Replacement) Swap(name string, may func(name string) error) error {
	err := unix.Renameat2(unix.AT_FDCWD, r.Path, unix.AT_FDCWD, name, unix.RENAME_NOREPLACE)
	replaces := err == unix.EEXIST
	if replaces {
		if err := may(name); err != nil { // it may have changed since it was looked at
			return err
		}
		err = unix.Renameat2(unix.AT_FDCWD, r.Path, unix.AT_FDCWD, name, unix.RENAME_EXCHANGE)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: r.Path, New: name, Err: err}
	}
	if replaces {
		if old, err := lockDir(r.Path, unix.LOCK_EX); err == nil {
			old.Remove()
		}
	}
	r.Path = ""
	return Sync(filepath.Dir(name))
}

// Remove removes what stands under the temporary name, if anything does, and gives the
// lock back. The next NewReplacement removes what this one can't.
func (r *Replacement) Remove() {
	if r.Path != "" {
		_ = eachDir(r.Path, func(dir string) error { return os.Chmod(dir, 0o700) })
		os.RemoveAll(r.Path)
	}
	unix.Close(r.fd)
	*r = Replacement{fd: -1}
}

// eachDir calls fn for a directory and those in it, which have none in them. It follows no
// links.
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

// Pin prevents the removal of the directory, which a Replacement may replace, until Close.
// It fails with ErrLocked if another command is removing it for longer than wait.
func (d *Dir) Pin(wait time.Duration) error {
	fd, err := unix.Openat(d.dirs[""], ".", unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := flock(fd, unix.LOCK_SH, wait, nil); err != nil {
		return err
	}
	d.dirs["."] = fd // no name leads there
	return nil
}

// Sync makes the names in a directory durable.
func Sync(dir string) error {
	fd, err := openDir(dir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fsync(fd)
}

func openDir(path string) (fd int, err error) {
	return unix.Open(path, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
}
