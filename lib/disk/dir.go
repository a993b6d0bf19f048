package disk

import (
	"io/fs"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"pulse/lib/safefile"
)

// Dir is a Disk on a real file system, through descriptors of its directories: a directory
// that is renamed under a running command stays whole. In a directory of another account
// root acts with that account's rights, and follows none of its links: root can't be made
// to reach what the account can't reach, and what root makes belongs to the account.
type Dir struct {
	UID, GID int // of the directory

	opt    Options
	dirs   map[string]int
	shared bool // its group may write it: what is made here is for its members, too

	mu  sync.Mutex     // of wet, in WriteAll
	wet map[string]int // what was written and is not synced, through the descriptors that wrote it
}

// Options say how a directory is used.
type Options struct {
	Tmp    string                  // the directory in it for temporary files; none: Link replaces nothing
	Most   func(name string) int64 // how many bytes a file has at most that is read whole
	Shared fs.FileMode             // of a file where the directory's group may write; 0: the group counts for nothing
	Owned  fs.FileMode             // of a file that only its owner can write, in such a directory
	Search bool                    // the right to search the directory is enough; SyncDir may then lack the right
}

// Fits returns ErrLarge if a file is larger than what is read whole.
func (o *Options) Fits(name string, size int64) error {
	if size > o.Most(name) {
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
		dirs: map[string]int{"": fd}, wet: map[string]int{},
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

// at returns the descriptor of a name's directory and the last part of the name. A
// name may come out of a file that somebody forged: it leads nowhere else.
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

// single reports whether a name is one of a file in a directory, and not a way.
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

// open returns a descriptor. A FIFO keeps nobody waiting. os.File is left out of it:
// for every file it would ask the poller, which knows nothing of regular files.
func (d *Dir) open(name string, flags int) (int, error) {
	return d.opened(name, func(dirfd int, base string) (int, error) {
		if d.shared && flags&unix.O_CREAT != 0 {
			return d.create(dirfd, base, name, flags)
		}
		return d.openBase(dirfd, base, flags)
	})
}

// openInPlace is open of a file that others may have open, and must all have the same: it
// is made under its name.
func (d *Dir) openInPlace(name string, flags int) (int, error) {
	return d.opened(name, func(dirfd int, base string) (int, error) { return d.openBase(dirfd, base, flags) })
}

func (d *Dir) openBase(dirfd int, base string, flags int) (int, error) {
	if d.shared && flags&unix.O_ACCMODE != unix.O_RDONLY {
		return d.openShared(dirfd, base, flags)
	}
	return unix.Openat(dirfd, base, flags|openFlags, 0o600)
}

// opened returns the descriptor that open gives, if it is one of a regular file.
func (d *Dir) opened(name string, open func(dirfd int, base string) (int, error)) (int, error) {
	dirfd, base, err := d.at(name)
	if err != nil {
		return -1, err
	}
	restore, err := d.As()
	if err != nil {
		return -1, err
	}
	defer restore()
	fd, err := open(dirfd, base)
	if err == nil {
		err = regular(fd)
	}
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

// regular closes a descriptor and fails if it is not one of a regular file.
func regular(fd int) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrOdd
	}
	if err != nil {
		unix.Close(fd)
	}
	return err
}

const openFlags = unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
