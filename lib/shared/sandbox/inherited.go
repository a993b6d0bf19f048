package sandbox

import (
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeInherited closes the descriptors that this process was handed when it was started,
// such as the lock of a shell script, except its standard streams and what the profile
// names: neither Landlock nor the filter reaches what is open. It knows them by their flag:
// what Go opens itself is closed on exec.
func closeInherited(p Profile) {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		if err != nil || fd <= 2 || slices.ContainsFunc(p.Read, func(path string) bool { return leads(path, fd) }) {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // nothing in this process uses it
		}
	}
}

// leads reports whether a path leads to an open file, as that of a shell's <(command) does.
func leads(path string, fd int) bool {
	if path == "/dev/fd/"+strconv.Itoa(fd) || path == "/proc/self/fd/"+strconv.Itoa(fd) {
		return true
	}
	var named, open unix.Stat_t
	return unix.Stat(path, &named) == nil && unix.Fstat(fd, &open) == nil &&
		named.Dev == open.Dev && named.Ino == open.Ino
}
