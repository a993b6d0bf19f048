package disk

import (
	"io/fs"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/safefile"
)

// Dir is a Disk on a real file system. It works through descriptors of its directories, so
// a directory that is renamed under a running command stays whole. In a directory of
// another account root acts with that account's rights, and follows none of its links. So
// root can't be made to reach what the account can't reach, and what root makes belongs to
// the account.
type Dir struct {
	UID, GID int // of the directory

	opt    Options
	dirs   map[string]int
	shared bool // its group may write it: files made here are for the members, too

	mu       sync.Mutex     // guards unsynced, in WriteAll
	unsynced map[string]int // the descriptors through which files were written that are not synced yet
}

// Options say how a directory is used.
type Options struct {
	Tmp    string                  // the directory in it for temporary files; empty: Link replaces nothing
	Most   func(name string) int64 // the largest size, in bytes, at which a file is read whole
	Shared fs.FileMode             // mode of files if the directory's group may write; 0: ignore the group
	Owned  fs.FileMode             // mode of a file that only its owner can write, in such a directory
	Search bool                    // the right to search the directory is enough, but maybe not for SyncDir
}

// Fits returns ErrLarge if a file is too large to be read whole.
func (o *Options) Fits(name string, size int64) error { return fits(name, size, o.Most(name)) }

func fits(name string, size, most int64) error {
	if size > most {
		return &fs.PathError{Op: "read", Path: name, Err: ErrLarge}
	}
	return nil
}

// Open opens a directory.
func Open(dir string, opt Options) (*Dir, error) {
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == unix.EACCES && opt.Search {
		fd, err = unix.Open(dir, unix.O_DIRECTORY|unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "stat", Path: dir, Err: err}
	}
	return &Dir{
		UID: int(st.Uid), GID: int(st.Gid), opt: opt, shared: opt.Shared != 0 && st.Mode&0o020 != 0,
		dirs: map[string]int{"": fd}, unsynced: map[string]int{},
	}, nil
}

// As takes on the rights of the directory's owner until restore is called, if this is root
// and the owner is not.
func (d *Dir) As() (restore func(), err error) {
	if d.UID == 0 || os.Geteuid() != 0 {
		return func() {}, nil
	}
	return safefile.As(d.UID, d.GID)
}

// Shared implements Disk.
func (d *Dir) Shared() bool { return d.shared }

// Close gives the descriptors back.
func (d *Dir) Close() {
	d.dropAll()
	for _, fd := range d.dirs {
		unix.Close(fd)
	}
}

// at returns the descriptor of a name's directory and the last part of the name. A name
// may come from a forged file, so it must not lead out of the directory.
func (d *Dir) at(name string) (fd int, base string, err error) {
	dir, base, in := strings.Cut(name, "/")
	if !in {
		dir, base = "", name
	}
	if in && !single(dir) || !single(base) {
		return -1, "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	fd, err = d.Fd(dir)
	return fd, base, err
}

// single reports whether a name is that of a file in a directory, and not a path.
func single(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/")
}

// Fd returns the descriptor of a directory, which stays open until Close.
func (d *Dir) Fd(dir string) (int, error) {
	if fd, ok := d.dirs[dir]; ok {
		return fd, nil
	}
	restore, err := d.As()
	if err != nil {
		return -1, err
	}
	defer restore()
	fd, err := unix.Openat(d.dirs[""], dir, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	d.dirs[dir] = fd
	return fd, nil
}

// open returns a descriptor, and does not wait at a FIFO. It does not use os.File, which
// would register every file with the poller, and the poller can't watch regular files.
func (d *Dir) open(name string, flags int) (int, error) {
	fd, _, err := d.openStat(name, flags)
	return fd, err
}

// openStat is open that also returns what the file is.
func (d *Dir) openStat(name string, flags int) (fd int, st unix.Stat_t, err error) {
	return d.opened(name, func(dirfd int, base string) (int, error) {
		if d.shared && flags&unix.O_CREAT != 0 {
			return d.create(dirfd, base, name, flags)
		}
		return d.openBase(dirfd, base, flags)
	})
}

// openInPlace opens a file that all commands must have in common, such as a lock: if it
// is missing, it is made under its name at once.
func (d *Dir) openInPlace(name string, flags int) (int, error) {
	fd, _, err := d.opened(name, func(dirfd int, base string) (int, error) { return d.openBase(dirfd, base, flags) })
	return fd, err
}

func (d *Dir) openBase(dirfd int, base string, flags int) (int, error) {
	if d.shared && flags&unix.O_ACCMODE != unix.O_RDONLY {
		return d.openShared(dirfd, base, flags)
	}
	return unix.Openat(dirfd, base, flags|openFlags, 0o600)
}

// opened returns the descriptor that open gives, if it is one of a regular file, and what that is.
func (d *Dir) opened(name string, open func(dirfd int, base string) (int, error)) (fd int, st unix.Stat_t, err error) {
	dirfd, base, err := d.at(name)
	if err != nil {
		return -1, st, err
	}
	restore, err := d.As()
	if err != nil {
		return -1, st, err
	}
	defer restore()
	fd, err = open(dirfd, base)
	if err == nil {
		st, err = regular(fd)
	}
	if err != nil {
		return -1, st, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, st, nil
}

// regular returns what a regular file is. If a descriptor is not one of such a file, it is
// closed, and regular fails.
func regular(fd int) (st unix.Stat_t, err error) {
	err = unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errOdd
	}
	if err != nil {
		unix.Close(fd)
	}
	return st, err
}

const openFlags = unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
