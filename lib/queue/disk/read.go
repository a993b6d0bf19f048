package disk

import (
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Read implements Disk.
func (d *Dir) Read(name string) ([]byte, error) { return d.read(name, d.opt.Most(name)) }

// readers is how many files are read at a time. A disk finds many in the time of one.
const readers = 16

// ReadAll implements Disk.
func (d *Dir) ReadAll(names []string, most int64) [][]byte {
	files := make([][]byte, len(names))
	if _, _, err := d.at(names[0]); err != nil { // no reader has to open the directory
		return files
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(len(names), readers) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)); i = next.Add(1) - 1 {
				files[i], _ = d.read(names[i], most)
			}
		})
	}
	group.Wait()
	return files
}

func (d *Dir) read(name string, most int64) ([]byte, error) {
	fd, st, err := d.openStat(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := fits(name, st.Size, most); err != nil {
		return nil, err
	}
	b := make([]byte, st.Size)
	n, err := pread(fd, name, 0, b)
	if err != nil {
		return nil, err
	}
	return b[:n], nil
}

// ReadAt implements Disk.
func (d *Dir) ReadAt(name string, off int64, b []byte) (n int, err error) {
	fd, err := d.open(name, unix.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return pread(fd, name, off, b)
}

// pread fills b, unless the file ends before.
func pread(fd int, name string, off int64, b []byte) (n int, err error) {
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

// Names implements Disk.
func (d *Dir) Names(dir string, fn func(name string) error) error {
	restore, err := d.As()
	if err != nil {
		return err
	}
	const flags = unix.O_DIRECTORY | unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	fd, err := unix.Openat(d.dirs[""], "./"+dir, flags, 0)
	restore() // fn may take these rights itself
	if err != nil {
		return &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	b := make([]byte, 8<<10)
	var names []string
	for {
		n, err := unix.Getdents(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "readdir", Path: dir, Err: err}
		}
		if n == 0 {
			return nil
		}
		_, _, names = unix.ParseDirent(b[:n], -1, names[:0])
		for _, name := range names {
			if err := fn(name); err != nil {
				return err
			}
		}
	}
}

// Stat implements Disk.
func (d *Dir) Stat(name string) (Stat, error) {
	fd, base, err := d.at(name)
	if err != nil {
		return Stat{}, err
	}
	restore, err := d.As()
	if err != nil {
		return Stat{}, err
	}
	defer restore()
	var st unix.Stat_t
	if err := unix.Fstatat(fd, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Stat{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return Stat{st.Size, time.Unix(st.Mtim.Unix()), st.Mode&unix.S_IFMT != unix.S_IFREG, idOf(&st)}, nil
}

func idOf(st *unix.Stat_t) [2]uint64 { return [2]uint64{st.Dev, st.Ino} }
