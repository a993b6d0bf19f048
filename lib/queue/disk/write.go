package disk

import (
	"errors"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Write implements Disk.
func (d *Dir) Write(name string, b []byte, mtime time.Time) error {
	fd, err := d.write(name, b, mtime)
	if fd < 0 {
		return err
	}
	return d.keep(name, fd, err)
}

// write returns the descriptor of the file, below 0 if there is none.
func (d *Dir) write(name string, b []byte, mtime time.Time) (int, error) {
	// After a power cut the file that has this name may have another one, too.
	if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return -1, err
	}
	fd, err := d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)
	if err != nil {
		return -1, err
	}
	err = Pwrite(fd, b, 0)
	if err == nil && !mtime.IsZero() {
		err = setTime(fd, mtime)
	}
	return fd, err
}

// WriteAll writes files of one directory on all processors, because most of the time goes
// into waiting until the kernel finds them an inode.
func (d *Dir) WriteAll(files []File) error {
	if _, _, err := d.at(files[0].Name); err != nil { // no writer has to open it
		return err
	}
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, min(len(files), runtime.GOMAXPROCS(0)))
	for w := range errs {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)) && errs[w] == nil; i = next.Add(1) - 1 {
				errs[w] = d.writeOne(&files[i], len(files) < Many)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// writeOne is Write. It keeps the descriptor only if keep is set: SyncAll syncs many files
// without.
func (d *Dir) writeOne(f *File, keep bool) error {
	if keep {
		return d.Write(f.Name, f.Data, f.Mtime)
	}
	fd, err := d.write(f.Name, f.Data, f.Mtime)
	if fd < 0 {
		return err
	}
	if e := unix.Close(fd); err == nil {
		err = e
	}
	if err != nil {
		return &fs.PathError{Op: "write", Path: f.Name, Err: err}
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

// Pwrite writes all of b to a descriptor.
func Pwrite(fd int, b []byte, off int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(fd, b, off)
		if err != nil {
			return err
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

// WriteAt implements Disk.
func (d *Dir) WriteAt(name string, off int64, b []byte) error {
	fd, err := d.open(name, unix.O_WRONLY|unix.O_CREAT)
	if err != nil {
		return err
	}
	return d.keep(name, fd, Pwrite(fd, b, off))
}

// Truncate implements Disk.
func (d *Dir) Truncate(name string, size int64) error {
	fd, err := d.open(name, unix.O_WRONLY)
	if err != nil {
		return err
	}
	return d.keep(name, fd, unix.Ftruncate(fd, size))
}
