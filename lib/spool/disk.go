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
	odd   bool // it is not a regular file
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

	mu  sync.Mutex     // of wet, in WriteAll
	wet map[string]int // what was written and is not synced, through the descriptors that wrote it
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
	return &osDisk{dirs: map[string]int{"": fd}, uid: int(st.Uid), gid: int(st.Gid), shared: st.Mode&0o020 != 0, wet: map[string]int{}}, nil
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
	d.dropAll()
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
	if err == nil {
		err = regular(fd)
	}
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

// errOdd is the error of what lies where a regular file should.
var errOdd = errors.New("it is not a regular file")

// regular closes a descriptor and fails if it is of something else than a file.
func regular(fd int) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errOdd
	}
	if err != nil {
		unix.Close(fd)
	}
	return err
}

const openFlags = unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK

func (d *osDisk) Read(name string) ([]byte, error) {
	st, err := d.Stat(name)
	if err == nil {
		err = fits(name, st.size)
	}
	if err != nil {
		return nil, err
	}
	b := make([]byte, st.size)
	n, err := d.ReadAt(name, 0, b)
	return b[:n], err
}

// The bounds of what is read whole: of what holds a record, or targets of one, and of
// all else. A record has 64 MiB at most.
const (
	mostLarge = 65 << 20
	mostSmall = 2 << 20
)

// errLarge is the error of a file that is larger than what pulse writes: it is refused
// before it is read.
var errLarge = errors.New("it is larger than any that pulse writes")

func fits(name string, size int64) error {
	most := int64(mostLarge)
	switch dirOf(name) {
	case metaDir, resultDir, grantDir, sessionDir, positionDir, "":
		most = mostSmall
	}
	if name == agendaFile || name == startsFile { // they grow with the queue
		most = mostLines
	}
	if size > most {
		return &fs.PathError{Op: "read", Path: name, Err: errLarge}
	}
	return nil
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
	return stat{st.Size, time.Unix(st.Mtim.Unix()), st.Mode&unix.S_IFMT != unix.S_IFREG, fileID{st.Dev, st.Ino}}, nil
}

func (d *osDisk) Write(name string, b []byte, mtime time.Time) error {
	fd, err := d.write(name, b, mtime)
	if fd < 0 {
		return err
	}
	return d.keep(name, fd, err)
}

// write returns a descriptor, below 0 if there is none.
func (d *osDisk) write(name string, b []byte, mtime time.Time) (int, error) {
	// The file that has the name may have another one, too, which a power cut left it.
	if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return -1, err
	}
	fd, err := d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)
	if err != nil {
		return -1, err
	}
	err = writeAll(fd, b, 0)
	if err == nil && !mtime.IsZero() {
		err = setTime(fd, mtime)
	}
	return fd, err
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
				errs[w] = d.writeOne(&files[i], len(files) < manyFiles)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// writeOne is Write; the descriptors of many, which SyncAll syncs, are not kept.
func (d *osDisk) writeOne(f *newFile, keep bool) error {
	if keep {
		return d.Write(f.name, f.b, f.mtime)
	}
	fd, err := d.write(f.name, f.b, f.mtime)
	if fd < 0 {
		return err
	}
	if e := unix.Close(fd); err == nil {
		err = e
	}
	if err != nil {
		return &fs.PathError{Op: "write", Path: f.name, Err: err}
	}
	return nil
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
	return d.keep(name, fd, writeAll(fd, b, off))
}

func (d *osDisk) Truncate(name string, size int64) error {
	fd, err := d.open(name, unix.O_WRONLY)
	if err != nil {
		return err
	}
	return d.keep(name, fd, unix.Ftruncate(fd, size))
}
