package disk

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Rename implements Disk.
func (d *Dir) Rename(from, to string) error {
	err := d.both(from, to, unix.Renameat)
	switch err {
	case nil:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.drop(to)
		if fd, ok := d.unsynced[from]; ok {
			delete(d.unsynced, from)
			d.unsynced[to] = fd
		}
		return nil
	case unix.EISDIR, unix.ENOTDIR, unix.ENOTEMPTY, unix.EEXIST:
		if d.Remove(to) == nil {
			return d.Rename(from, to)
		}
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}

// both makes a call that takes two names, as the owner of the files.
func (d *Dir) both(from, to string, call func(fd int, name string, toFd int, toName string) error) error {
	fd, name, err := d.at(from)
	if err != nil {
		return err
	}
	toFd, toName, err := d.at(to)
	if err != nil {
		return err
	}
	restore, err := d.As()
	if err != nil {
		return err
	}
	defer restore()
	return call(fd, name, toFd, toName)
}

// Link implements Disk. If a file can have only one name, or this account may not give it
// another one, Link renames the file.
func (d *Dir) Link(from, to string) error {
	err := d.both(from, to, func(fd int, name string, toFd int, toName string) error {
		return unix.Linkat(fd, name, toFd, toName, 0)
	})
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

// relink is Link if there is a file of that name, which it replaces in one step.
func (d *Dir) relink(from, to string) error {
	a, err := d.Stat(from)
	if err != nil {
		return err
	}
	b, err := d.Stat(to)
	if err != nil || a.ID == b.ID {
		return err
	}
	linked := d.opt.Tmp + "/linked"
	if err := d.Remove(linked); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.Link(from, linked); err != nil {
		return err
	}
	return d.Rename(linked, to)
}

// Remove implements Disk.
func (d *Dir) Remove(name string) error {
	fd, base, err := d.at(name)
	if err != nil {
		return err
	}
	restore, err := d.As()
	if err != nil {
		return err
	}
	err = unix.Unlinkat(fd, base, 0)
	if aside := d.opt.Tmp + "/aside-"; err == unix.EISDIR && d.opt.Tmp != "" && !strings.HasPrefix(name, aside) {
		// A person made this directory, and may want what is in it.
		err = unix.Renameat(fd, base, d.dirs[""], aside+base+"-"+strconv.FormatInt(time.Now().UnixNano(), 10))
	}
	restore()
	if err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(name)
	return nil
}
