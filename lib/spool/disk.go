package spool

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pulse/lib/safefile"
)

// disk is what the spool asks of a file system. Names are relative to the queue,
// with one slash at most. Nothing but the Sync methods makes anything durable,
// and a failed sync is never tried again: the kernel may have dropped the pages.
type disk interface {
	Read(name string) ([]byte, error)
	ReadAt(name string, off int64, b []byte) (int, error) // short at the end of the file
	Names(dir string, fn func(name string) error) error   // in no order
	Stat(name string) (stat, error)
	Shared() bool                                           // others than the owner may write: the approvers
	ReadHeld(name string) (b []byte, holder int, err error) // who alone can have written it; 0: nobody, or root
	WriteHeld(name string, b []byte) error                  // a new file that only this account can change
	Write(name string, b []byte, mtime time.Time) error     // a new file, whatever had the name; zero mtime: now
	WriteAll(files []newFile) error                         // Write for each
	WriteAt(name string, off int64, b []byte) error         // creates; off is not behind the end
	Truncate(name string, size int64) error
	Rename(from, to string) error // on some file systems two steps, which reach the disk in any order
	Link(from, to string) error   // to is a name of the file, too, and of no other
	Remove(name string) error
	SyncFile(name string) error
	SyncDir(dir string) error // "" is the queue itself
	SyncAll() error
}

// list returns the names in a directory that never holds many.
func list(d disk, dir string) (names []string, err error) {
	err = d.Names(dir, func(name string) error {
		names = append(names, name)
		return nil
	})
	return names, err
}

// newFile is what Write is given.
type newFile struct {
	name  string
	b     []byte
	mtime time.Time
}

type stat struct {
	size  int64
	mtime time.Time
	file  fileID
}

// fileID tells files apart, whatever their names.
type fileID struct{ dev, ino uint64 }

// osDisk is the real file system, through descriptors of the queue's directories:
// a queue that is renamed under a running command stays whole. In a queue of somebody
// else root acts with his rights, and follows none of his links: what he can't
// reach, he can't make root reach, and what root makes is his.
type osDisk struct {
	dirs     map[string]int
	uid, gid int  // of the queue
	shared   bool // its group may write it: what is made here is for its members, too
}

func openDisk(root string) (*osDisk, error) {
	fd, err := unix.Open(root, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: root, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "stat", Path: root, Err: err}
	}
	return &osDisk{map[string]int{"": fd}, int(st.Uid), int(st.Gid), st.Mode&0o020 != 0}, nil
}

// as takes on the rights of the queue's owner, where this is root and he is not,
// until restore is called.
func (d *osDisk) as() (restore func(), err error) {
	if d.uid == 0 || os.Geteuid() != 0 {
		return func() {}, nil
	}
	return safefile.As(d.uid, d.gid)
}

// Shared implements disk.
func (d *osDisk) Shared() bool { return d.shared }

func (d *osDisk) close() {
	for _, fd := range d.dirs {
		unix.Close(fd)
	}
}

// at returns the descriptor of a name's directory and the last part of the name. A
// name may come out of a log that somebody forged: it leads nowhere else.
func (d *osDisk) at(name string) (fd int, base string, err error) {
	dir, base, in := strings.Cut(name, "/")
	if !in {
		dir, base = "", name
	}
	if in && !single(dir) || !single(base) {
		return -1, "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	fd, err = d.dir(dir)
	return fd, base, err
}

// single reports whether a name is one of a file in a directory, and not a way.
func single(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/")
}

func (d *osDisk) dir(dir string) (int, error) {
	if fd, ok := d.dirs[dir]; ok {
		return fd, nil
	}
	restore, err := d.as()
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
func (d *osDisk) open(name string, flags int) (int, error) {
	fd, base, err := d.at(name)
	if err != nil {
		return -1, err
	}
	restore, err := d.as()
	if err != nil {
		return -1, err
	}
	defer restore()
	switch {
	case d.shared && flags&unix.O_CREAT != 0:
		fd, err = d.create(fd, base, name, flags)
	case d.shared && flags&unix.O_ACCMODE != unix.O_RDONLY:
		fd, err = openShared(fd, base, flags)
	default:
		fd, err = unix.Openat(fd, base, flags|openFlags, 0o600)
	}
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

const openFlags = unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK

func (d *osDisk) Read(name string) ([]byte, error) {
	st, err := d.Stat(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, st.size)
	n, err := d.ReadAt(name, 0, b)
	return b[:n], err
}

func (d *osDisk) ReadAt(name string, off int64, b []byte) (n int, err error) {
	fd, err := d.open(name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	for n < len(b) {
		k, err := unix.Pread(fd, b[n:], off+int64(n))
		if err != nil {
			return n, &fs.PathError{Op: "read", Path: name, Err: err}
		}
		if k == 0 {
			break
		}
		n += k
	}
	return n, nil
}

func (d *osDisk) Names(dir string, fn func(name string) error) error {
	restore, err := d.as()
	if err != nil {
		return err
	}
	fd, err := unix.Openat(d.dirs[""], "./"+dir, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	restore() // fn may want it for itself
	if err != nil {
		return &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	for {
		names, err := f.Readdirnames(1024) // a directory may hold a million
		for _, name := range names {
			if err := fn(name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (d *osDisk) Stat(name string) (stat, error) {
	fd, base, err := d.at(name)
	if err != nil {
		return stat{}, err
	}
	restore, err := d.as()
	if err != nil {
		return stat{}, err
	}
	defer restore()
	var st unix.Stat_t
	if err := unix.Fstatat(fd, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stat{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return stat{st.Size, time.Unix(st.Mtim.Unix()), fileID{st.Dev, st.Ino}}, nil
}

func (d *osDisk) Write(name string, b []byte, mtime time.Time) error {
	// The file that has the name may have another one, too, which a power cut left it.
	if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fd, err := d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)
	if err != nil {
		return err
	}
	err = writeAll(fd, b, 0)
	if err == nil && !mtime.IsZero() {
		err = setTime(fd, mtime)
	}
	if e := unix.Close(fd); err == nil {
		err = e
	}
	if err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}

// WriteAll writes files of one directory on all processors: most of it is waiting
// for the kernel to find them an inode.
func (d *osDisk) WriteAll(files []newFile) error {
	if _, _, err := d.at(files[0].name); err != nil { // no writer has to open it
		return err
	}
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, min(len(files), runtime.GOMAXPROCS(0)))
	for w := range errs {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)) && errs[w] == nil; i = next.Add(1) - 1 {
				errs[w] = d.Write(files[i].name, files[i].b, files[i].mtime)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// setTime sets the times of an open file: utimensat(2) without a name, which is the only
// form that a confined command may use.
func setTime(fd int, t time.Time) error {
	ts := unix.NsecToTimespec(t.UnixNano())
	both := [2]unix.Timespec{ts, ts}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&both)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func writeAll(fd int, b []byte, off int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(fd, b, off)
		if err != nil {
			return err
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

func (d *osDisk) WriteAt(name string, off int64, b []byte) error {
	fd, err := d.open(name, unix.O_WRONLY|unix.O_CREAT)
	if err != nil {
		return err
	}
	err = writeAll(fd, b, off)
	if e := unix.Close(fd); err == nil {
		err = e
	}
	if err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}

func (d *osDisk) Truncate(name string, size int64) error {
	fd, err := d.open(name, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, size); err != nil {
		return &fs.PathError{Op: "truncate", Path: name, Err: err}
	}
	return nil
}

func (d *osDisk) Rename(from, to string) error {
	ffd, fbase, err := d.at(from)
	if err != nil {
		return err
	}
	tfd, tbase, err := d.at(to)
	if err != nil {
		return err
	}
	restore, err := d.as()
	if err != nil {
		return err
	}
	defer restore()
	if err := unix.Renameat(ffd, fbase, tfd, tbase); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// linked is the name of a link that is to replace a file.
const linked = tmpDir + "/linked"

// Link implements disk. Where a file may have one name only, or this account may not give
// it another one, it is renamed.
func (d *osDisk) Link(from, to string) error {
	ffd, fbase, err := d.at(from)
	if err != nil {
		return err
	}
	tfd, tbase, err := d.at(to)
	if err != nil {
		return err
	}
	restore, err := d.as()
	if err != nil {
		return err
	}
	err = unix.Linkat(ffd, fbase, tfd, tbase, 0)
	restore()
	switch err {
	case nil:
		return nil
	case unix.EEXIST:
		return d.relink(from, to)
	case unix.EPERM, unix.EOPNOTSUPP, unix.EMLINK:
		return d.Rename(from, to)
	}
	return &os.LinkError{Op: "link", Old: from, New: to, Err: err}
}

// relink is Link where there is a file of that name. Nobody sees it gone.
func (d *osDisk) relink(from, to string) error {
	a, err := d.Stat(from)
	if err != nil {
		return err
	}
	b, err := d.Stat(to)
	if err != nil || a.file == b.file {
		return err
	}
	if err := d.Remove(linked); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.Link(from, linked); err != nil {
		return err
	}
	return d.Rename(linked, to)
}

func (d *osDisk) Remove(name string) error {
	fd, base, err := d.at(name)
	if err != nil {
		return err
	}
	restore, err := d.as()
	if err != nil {
		return err
	}
	defer restore()
	if err := unix.Unlinkat(fd, base, 0); err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	return nil
}

func (d *osDisk) SyncFile(name string) error {
	fd, err := d.open(name, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Fsync(fd); err != nil {
		return &fs.PathError{Op: "sync", Path: name, Err: err}
	}
	return nil
}

func (d *osDisk) SyncDir(dir string) error {
	fd, err := d.dir(dir)
	if err != nil {
		return err
	}
	if err := unix.Fsync(fd); err != nil {
		return &fs.PathError{Op: "sync", Path: dir, Err: err}
	}
	return nil
}

func (d *osDisk) SyncAll() error {
	if err := unix.Syncfs(d.dirs[""]); err != nil {
		return &fs.PathError{Op: "syncfs", Path: ".", Err: err}
	}
	return nil
}
