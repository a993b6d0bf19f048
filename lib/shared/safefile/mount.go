package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrFUSE reports a file whose owner can't be believed: any user may mount a FUSE file
// system over a directory of theirs, and their program says who owns each file in it.
var ErrFUSE = errors.New("it lies on a FUSE file system, which can claim any owner for a file")

// Mount identifies the mount on which an open file lies.
type Mount struct {
	FUSE bool
	dev  uint64
	id   uint64 // 0 if the kernel does not tell (before Linux 5.8)
}

// MountOf returns the mount that a descriptor was opened on.
func MountOf(fd int) (m Mount, err error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &st); err != nil {
		return m, &fs.PathError{Op: "statx", Path: "descriptor", Err: err}
	}
	m.dev = unix.Mkdev(st.Dev_major, st.Dev_minor)
	if st.Mask&unix.STATX_MNT_ID != 0 {
		m.id = st.Mnt_id
	}
	m.FUSE, err = onFUSE(fd)
	return m, err
}

func onFUSE(fd int) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false, &fs.PathError{Op: "statfs", Path: "descriptor", Err: err}
	}
	return st.Type == unix.FUSE_SUPER_MAGIC, nil
}

// Same reports whether two files lie on one mount. The id comes first, because a bind
// mount has the device of what it shows, and an id of its own.
func (m Mount) Same(other Mount) bool {
	if m.id != 0 && other.id != 0 {
		return m.id == other.id
	}
	return m.dev == other.dev
}

// OnGround reports whether an open file lies on the mount of an open directory. It fails if
// that is a FUSE file system.
func OnGround(dir, file int) (bool, error) {
	m, err := MountOf(dir)
	if err != nil {
		return false, err
	}
	on, err := MountOf(file)
	if err == nil && m.FUSE {
		err = ErrFUSE
	}
	return err == nil && on.Same(m), err
}

// stat is os.Stat, or os.Lstat with O_NOFOLLOW. It fails with ErrFUSE if the owner of the
// file can't be believed: on a FUSE file system that was not mounted by root, this user
// or one of the owners.
func stat(path string, flags int, owners ...uint32) (fs.FileInfo, error) {
	f, err := os.OpenFile(path, unix.O_PATH|flags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return info, believed(f, owners...)
}

func believed(f *os.File, owners ...uint32) error {
	if fuse, err := onFUSE(int(f.Fd())); err != nil || !fuse {
		return err
	}
	m, err := MountOf(int(f.Fd()))
	if err != nil {
		return err
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("%s: %w (%w)", f.Name(), ErrFUSE, err)
	}
	uid, ok := mountedBy(string(table), m.id)
	if !ok || uid != 0 && int64(uid) != int64(os.Geteuid()) && !slices.Contains(owners, uid) {
		return fmt.Errorf("%s: %w", f.Name(), ErrFUSE)
	}
	return nil
}

// mountedBy finds the user that mounted a FUSE file system, in the text of
// /proc/self/mountinfo (proc_pid_mountinfo(5)). Only root can mount one without user_id,
// such as virtiofs.
func mountedBy(table string, id uint64) (uid uint32, ok bool) {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[0] != strconv.FormatUint(id, 10) {
			continue
		}
		for option := range strings.SplitSeq(fields[len(fields)-1], ",") {
			if value, found := strings.CutPrefix(option, "user_id="); found {
				n, err := strconv.ParseUint(value, 10, 32)
				return uint32(n), err == nil
			}
		}
		return 0, true
	}
	return 0, false
}
