package workspace

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/safefile"
)

// foretold fails unless dir leads to an open directory, through symbolic links of the
// owners only. Without that, a user who may write to a directory above the workspace could
// put a link in its place and have any other directory taken for it. Each step is taken on
// an open descriptor, so nothing can be swapped in between.
func foretold(dir string, self *os.File, owners ...uint32) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	at, err := os.OpenFile("/", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer func() { at.Close() }()
	names := strings.Split(dir, "/")
	for links := 0; len(names) > 0; {
		name := names[0]
		if names = names[1:]; name == "" {
			continue
		}
		next, to, err := step(at, name, owners)
		if err != nil {
			return err
		}
		if to == "" {
			at.Close()
			at = next
			continue
		}
		if links++; links > maxLinks {
			return syscall.ELOOP
		}
		if names = append(strings.Split(to, "/"), names...); filepath.IsAbs(to) {
			root, err := os.OpenFile("/", unix.O_PATH|unix.O_DIRECTORY, 0)
			if err != nil {
				return err
			}
			at.Close()
			at = root
		}
	}
	return sameFile(at, self)
}

// step opens a name in a directory or, if the name is a link of one of the owners,
// returns where it leads.
func step(at *os.File, name string, owners []uint32) (next *os.File, to string, err error) {
	fd, err := unix.Openat(int(at.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, "", err
	}
	next = os.NewFile(uintptr(fd), name)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return next, "", nil
	}
	defer next.Close()
	if err != nil {
		return nil, "", err
	}
	on, err := safefile.MountOf(fd)
	if err != nil {
		return nil, "", err
	}
	if on.FUSE || !slices.Contains(owners, st.Uid) { // a FUSE file system calls any link root's
		return nil, "", errMoved
	}
	to, err = linkText(fd)
	return nil, to, err
}

// linkText returns the path in an open symbolic link.
func linkText(fd int) (string, error) {
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", b)
	if err == nil && n == 0 {
		err = io.ErrUnexpectedEOF
	}
	return string(b[:max(n, 0)]), err
}

// sameFile fails with errMoved if two descriptors are not of the same file.
func sameFile(a, b *os.File) error {
	x, err := a.Stat()
	if err != nil {
		return err
	}
	y, err := b.Stat()
	if err == nil && !os.SameFile(x, y) {
		err = errMoved
	}
	return err
}
