package disk

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/safefile"
)

// create opens a file in a shared directory, and makes it first if it is missing. A file
// never gets its name before the others can write it: a command that is killed here leaves
// at most a temporary file that they can't write.
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

// openShared opens a file for writing that is for all accounts that may write the
// directory. It sets the mode of a file that is there, so that ReadOwned finds no owner:
// another account can have put a file under the name that only this account could write
// (WriteOwned), to have it filled with their words.
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

// WriteOwned implements Disk. It makes the file anew, because what lies there may belong
// to another account, or another account may have it open. No other account can write a
// file that belongs to this one and that the group could never write. ReadOwned looks for
// that.
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

// ReadOwned implements Disk. It returns the owner of a file which no other account could
// ever write: one that has the mode of WriteOwned, the group of the directory and no other
// name, and lies on the mount of the directory.
func (d *Dir) ReadOwned(name string) (b []byte, owner int, err error) {
	if !d.shared {
		b, err = d.Read(name)
		return b, 0, err
	}
	fd, st, err := d.openStat(name, unix.O_RDONLY)
	if err != nil {
		return nil, 0, err
	}
	defer unix.Close(fd)
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

// Like implements Disk. In a directory of another account root has that account's rights
// for all of it, because other may be a link to one of root's files.
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
