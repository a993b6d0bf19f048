package spool

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// create opens a file of a queue that has approvers, and makes it first where it is
// not there. Under its name it is never one that the others can't write: a command
// that is killed here leaves such a file in tmp at most, which the next one empties.
func (d *osDisk) create(dirfd int, base, name string, flags int) (int, error) {
	if strings.HasPrefix(name, tmpDir+"/") || name == lockFile {
		return openShared(dirfd, base, flags)
	}
	fd, err := openShared(dirfd, base, flags&^unix.O_CREAT)
	if err != unix.ENOENT {
		return fd, err
	}
	tmp, err := d.dir(tmpDir)
	if err != nil {
		return -1, err
	}
	const making = "making"
	if err := unix.Unlinkat(tmp, making, 0); err != nil && err != unix.ENOENT {
		return -1, err // after a power cut it may be a second name of another file
	}
	if fd, err = openShared(tmp, making, flags); err != nil {
		return -1, err
	}
	if err := unix.Renameat(tmp, making, dirfd, base); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// openShared opens a file for writing that is for all who may write the queue. What
// is written to it is nobody's yes, whatever lay there: they can have put a file under
// the name that this account alone could write (WriteHeld), to have it filled with
// words of theirs.
func openShared(dirfd int, base string, flags int) (int, error) {
	fd, err := unix.Openat(dirfd, base, flags|openFlags, 0o600)
	if err != nil {
		return -1, err
	}
	// One of another account is as it should be already, or verify says so.
	if err := unix.Fchmod(fd, sharedFileMode); err != nil && err != unix.EPERM {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// WriteHeld makes the file anew: what lay there may be somebody else's, or he may have
// it open. Nobody else can write what belongs to this account and was never for the
// group to write; that is what ReadHeld looks for.
func (d *osDisk) WriteHeld(name string, b []byte) error {
	if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dirfd, base, err := d.at(name)
	if err != nil {
		return err
	}
	restore, err := d.as()
	if err != nil {
		return err
	}
	defer restore()
	fd, err := unix.Openat(dirfd, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|openFlags, 0o600)
	if err != nil {
		return &fs.PathError{Op: "create", Path: name, Err: err}
	}
	if err = writeAll(fd, b, 0); err == nil {
		err = unix.Fchmod(fd, heldFileMode)
	}
	return d.keep(name, fd, err)
}

// ReadHeld implements disk. The holder is the owner of a file that only he could ever
// write: of mode 0640, of the group of the approvers, under this name alone.
func (d *osDisk) ReadHeld(name string) (b []byte, holder int, err error) {
	if !d.shared {
		b, err = d.Read(name)
		return b, 0, err
	}
	fd, err := d.open(name, unix.O_RDONLY)
	if err != nil {
		return nil, 0, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, 0, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if err := fits(name, st.Size); err != nil {
		return nil, 0, err
	}
	if st.Mode == unix.S_IFREG|heldFileMode && st.Nlink == 1 && int(st.Gid) == d.gid && d.onGround(fd) == nil {
		holder = int(st.Uid)
	}
	b = make([]byte, st.Size)
	for n := 0; n < len(b); {
		k, err := unix.Pread(fd, b[n:], int64(n))
		if err != nil {
			return nil, 0, &fs.PathError{Op: "read", Path: name, Err: err}
		}
		if k == 0 {
			return b[:n], holder, nil
		}
		n += k
	}
	return b, holder, nil
}
