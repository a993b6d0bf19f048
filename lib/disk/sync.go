package disk

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// maxWet is how many files wait for their sync at most: SyncAll syncs any others.
const maxWet = 16

// keep keeps the descriptor of a file for SyncFile, unless writing it failed: the name may
// be another file's by then, and the caller is told of the error.
func (d *Dir) keep(name string, fd int, err error) error {
	if err != nil {
		unix.Close(fd)
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(name)
	if len(d.wet) == maxWet {
		d.dropAll()
	}
	d.wet[name] = fd
	return nil
}

func (d *Dir) drop(name string) {
	if fd, ok := d.wet[name]; ok {
		unix.Close(fd)
		delete(d.wet, name)
	}
}

func (d *Dir) dropAll() {
	for name := range d.wet {
		d.drop(name)
	}
}

// SyncFile implements Disk.
func (d *Dir) SyncFile(name string) error {
	fd, ok := d.wet[name]
	if !ok {
		st, err := d.Stat(name)
		if err == nil && st.Odd {
			err = &fs.PathError{Op: "sync", Path: name, Err: ErrOdd}
		}
		if err != nil {
			return err
		}
		return d.SyncAll()
	}
	err := unix.Fsync(fd)
	if d.drop(name); err != nil {
		return &fs.PathError{Op: "sync", Path: name, Err: err}
	}
	return nil
}

// SyncDir implements Disk.
func (d *Dir) SyncDir(dir string) error {
	fd, err := d.Fd(dir)
	if err != nil {
		return err
	}
	if err = unix.Fsync(fd); err == unix.EBADF && d.opt.Search {
		err = unix.EACCES // it was opened to be searched
	}
	if err != nil {
		return &fs.PathError{Op: "sync", Path: dir, Err: err}
	}
	return nil
}

// SyncAll implements Disk.
func (d *Dir) SyncAll() error {
	d.dropAll()
	if err := unix.Syncfs(d.dirs[""]); err != nil {
		return &fs.PathError{Op: "syncfs", Path: ".", Err: err}
	}
	return nil
}
