package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"pulse/lib/queue/disk"
)

// chunk is how much is copied at a time.
const chunk = 256 << 10

// linkedName is where the files of a snapshot are until they are copied.
const linkedName = "linked"

// link links a file of the queue for copyLinked. Root links nothing from the queue of
// another account: that account may have moved a file there that it can't read itself, to
// have it copied.
func (c *copier) link(dir, name string) error {
	d, ok := c.Disk.(*disk.Dir)
	if !ok || d.UID != os.Geteuid() && os.Geteuid() == 0 {
		return errors.ErrUnsupported
	}
	fd, err := d.Fd(dir)
	if err != nil {
		return err
	}
	return unix.Linkat(fd, name, unix.AT_FDCWD, filepath.Join(c.root, linkedName, dir, name), 0)
}

// copyLinked copies what was linked. Nobody waits for it.
func (c *copier) copyLinked() error {
	linked := filepath.Join(c.root, linkedName)
	d, err := disk.Open(linked, disk.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	for _, dir := range c.Layout.dirs() {
		err := d.Names(dir, func(name string) error { return c.copyRegular(d, dir+"/"+name) })
		if err != nil {
			return err
		}
	}
	return os.RemoveAll(linked)
}

// copyRegular is copyFile, but passes over what is not a regular file: verify finds that in
// the queue.
func (c *copier) copyRegular(from disk.Disk, name string) error {
	if err := c.copyFile(from, name); err != nil && !disk.NotFile(err) {
		return err
	}
	return nil
}

// copyFile copies one file with its time, by which tasks are sorted. If the file goes
// meanwhile, the error is fs.ErrNotExist, and nothing of it is left.
func (c *copier) copyFile(from disk.Disk, name string) error {
	st, err := from.Stat(name)
	if err == nil {
		err = c.Layout.Fits(name, st.Size)
	}
	if err != nil {
		return err
	}
	n, err := from.ReadAt(name, 0, c.buf)
	if err != nil {
		return err
	}
	to := filepath.Join(c.root, name)
	fd, err := unix.Open(to, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, uint32(fileMode))
	if err != nil {
		return &fs.PathError{Op: "create", Path: to, Err: err}
	}
	defer unix.Close(fd)
	for off := int64(0); err == nil && n > 0; {
		err = disk.Pwrite(fd, c.buf[:n], off)
		if off += int64(n); err == nil && n == len(c.buf) {
			n, err = from.ReadAt(name, off, c.buf)
		} else {
			n = 0
		}
	}
	if err == nil {
		err = unix.Fchmod(fd, uint32(fileMode))
	}
	ts := unix.NsecToTimespec(st.Mtime.UnixNano())
	if err == nil {
		err = unix.UtimesNanoAt(unix.AT_FDCWD, to, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, os.Remove(to))
	}
	if err != nil {
		return &fs.PathError{Op: "copy", Path: to, Err: err}
	}
	return nil
}
