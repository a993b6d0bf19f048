package spool

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// maxWet is how many files wait for their sync at most: SyncAll syncs any others.
const maxWet = 16

// keep keeps the descriptor of a file for SyncFile, unless writing it failed: the name may
// be another file's by then, and an error of the disk is told to who wrote.
func (d *osDisk) keep(name string, fd int, err error) error {
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

func (d *osDisk) drop(name string) {
	if fd, ok := d.wet[name]; ok {
		unix.Close(fd)
		delete(d.wet, name)
	}
}

func (d *osDisk) dropAll() {
	for name := range d.wet {
		d.drop(name)
	}
}

func (d *osDisk) SyncFile(name string) error {
	fd, ok := d.wet[name]
	if !ok {
		st, err := d.Stat(name)
		if err == nil && st.odd {
			err = &fs.PathError{Op: "sync", Path: name, Err: errOdd}
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
	d.dropAll()
	if err := unix.Syncfs(d.dirs[""]); err != nil {
		return &fs.PathError{Op: "syncfs", Path: ".", Err: err}
	}
	return nil
}
