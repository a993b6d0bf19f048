package spool

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

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
	err = unix.Renameat(ffd, fbase, tfd, tbase)
	restore()
	switch err {
	case nil:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.drop(to)
		if fd, ok := d.wet[from]; ok {
			delete(d.wet, from)
			d.wet[to] = fd
		}
		return nil
	case unix.EISDIR, unix.ENOTDIR, unix.ENOTEMPTY, unix.EEXIST:
		if d.Remove(to) == nil {
			return d.Rename(from, to)
		}
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
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
	err = unix.Unlinkat(fd, base, 0)
	if err == unix.EISDIR && !strings.HasPrefix(name, setAside) {
		// Somebody made it, and may want what is in it.
		err = unix.Renameat(fd, base, d.dirs[""], setAside+base+"-"+strconv.FormatInt(time.Now().UnixNano(), 10))
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

// setAside is how the names begin of directories that lay where a file belongs.
const setAside = tmpDir + "/aside-"
