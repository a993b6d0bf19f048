package disk

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"pulse/lib/safefile"
)

// create opens a file of a directory that is shared, and makes it first if it is missing.
// Under its name it is never one that the others can't write: a command that is killed
// here leaves such a file among the temporary ones at most.
func (d *Dir) create(dirfd int, base, name string, flags int) (int, error) {
	if strings.HasPrefix(name, d.opt.Tmp+"/") {
		return d.openShared(dirfd, base, flags)
	}
	fd, err := d.openShared(dirfd, base, flags&^unix.O_CREAT)
	if err != unix.ENOENT {
		return fd, err
	}
	tmp, err := d.Fd(d.opt.Tmp)
	if err != nil {
		return -1, err
	}
	const making = "making"
	if err := unix.Unlinkat(tmp, making, 0); err != nil && err != unix.ENOENT {
		return -1, err // after a power cut it may be a second name of another file
	}
	if fd, err = d.openShared(tmp, making, flags); err != nil {
		return -1, err
	}
	if err := unix.Renameat(tmp, making, dirfd, base); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// openShared opens a file for writing that is for everybody who may write the directory.
// What is written to it has no owner, whatever lay there: one of the others can have put a
// file under the name that this account alone could write (WriteOwned), to have it filled
// with their words.
func (d *Dir) openShared(dirfd int, base string, flags int) (int, error) {
	fd, err := unix.Openat(dirfd, base, flags|openFlags, 0o600)
	if err != nil {
		return -1, err
	}
	// A file of another account has the mode already, or the check of modes reports it.
	if err := unix.Fchmod(fd, uint32(d.opt.Shared)); err != nil && err != unix.EPERM {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// WriteOwned makes the file anew: what lay there may be somebody else's, or somebody else
// may have it open. Nobody else can write a file that belongs to this account and was never
// for the group to write; that is what ReadOwned looks for.
func (d *Dir) WriteOwned(name string, b []byte) error {
	if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dirfd, base, err := d.at(name)
	if err != nil {
		return err
	}
	restore, err := d.As()
	if err != nil {
		return err
	}
	defer restore()
	fd, err := unix.Openat(dirfd, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|openFlags, 0o600)
	if err != nil {
		return &fs.PathError{Op: "create", Path: name, Err: err}
	}
	if err = Pwrite(fd, b, 0); err == nil {
		err = unix.Fchmod(fd, uint32(d.opt.Owned))
	}
	return d.keep(name, fd, err)
}

// ReadOwned implements Disk. The owner is that of a file which no other account could ever
// write: it has the mode of WriteOwned, the group of the directory, this name alone, and
// lies on the mount of the directory.
func (d *Dir) ReadOwned(name string) (b []byte, owner int, err error) {
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
	if err := d.opt.Fits(name, st.Size); err != nil {
		return nil, 0, err
	}
	if st.Mode == unix.S_IFREG|uint32(d.opt.Owned) && st.Nlink == 1 && int(st.Gid) == d.GID {
		if same, err := safefile.OnGround(d.dirs[""], fd); err == nil && same {
			owner = int(st.Uid)
		}
	}
	b = make([]byte, st.Size)
	n, err := pread(fd, name, 0, b)
	if err != nil {
		return nil, 0, err
	}
	return b[:n], owner, nil
}

// Like implements Disk. In a directory of another account root has that account's rights for
// all of it: other may be a link to a file of root's.
func (d *Dir) Like(name, other string) error {
	restore, err := d.As()
	if err != nil {
		return err
	}
	defer restore()
	dirfd, base, err := d.at(other)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dirfd, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "stat", Path: other, Err: err}
	}
	fd, err := d.open(name, unix.O_WRONLY)
	if err != nil {
		return err
	}
	if err = unix.Fchown(fd, int(st.Uid), int(st.Gid)); err == nil {
		err = unix.Fchmod(fd, st.Mode&0o777)
	}
	return d.keep(name, fd, err)
}
