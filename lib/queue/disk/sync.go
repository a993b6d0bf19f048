package disk

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// maxUnsynced is how many files are synced one by one: SyncAll syncs more than that.
const maxUnsynced = 16

// keep keeps the descriptor of a file for SyncFile. If writing failed, it closes the
// descriptor and returns the error, because the name may be another file's by then.
func (d *Dir) keep(name string, fd int, err error) error {
	if err != nil {
		unix.Close(fd)
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(name)
	if len(d.unsynced) == maxUnsynced {
		d.dropAll()
	}
	d.unsynced[name] = fd
	return nil
}

func (d *Dir) drop(name string) {
	if fd, ok := d.unsynced[name]; ok {
		unix.Close(fd)
		delete(d.unsynced, name)
	}
}

func (d *Dir) dropAll() {
	for name := range d.unsynced {
		d.drop(name)
	}
}

// SyncFile implements Disk.
func (d *Dir) SyncFile(name string) error {
	fd, ok := d.unsynced[name]
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
