package cmdline

import (
	"os"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/fault"
)

// closed reports whether a standard stream was closed when the process began. What was read
// from it would be nothing, and what was written to it would be lost, with status 0: before any
// code of this program runs, Go's runtime opens /dev/null for reading and writing in its place.
// So such a /dev/null counts as closed, unless another standard stream shares it. The runtime
// opens one for each; daemon(3) and others who mean it open one and duplicate it. What shells,
// systemd and os/exec open is for reading or for writing alone.
func closed(stream *os.File) bool {
	fd := stream.Fd()
	flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
	if err != nil {
		return true
	}
	var stat unix.Stat_t
	if flags&unix.O_ACCMODE != unix.O_RDWR || unix.Fstat(int(fd), &stat) != nil ||
		stat.Mode&unix.S_IFMT != unix.S_IFCHR || stat.Rdev != unix.Mkdev(1, 3) {
		return false
	}
	for other := range uintptr(3) {
		if other != fd && shared(fd, other) {
			return false
		}
	}
	return true
}

// shared reports whether two descriptors were duplicated from one (kcmp(2), KCMP_FILE). A kernel
// that does not tell says no.
func shared(a, b uintptr) bool {
	pid := uintptr(os.Getpid())
	order, _, errno := unix.RawSyscall6(unix.SYS_KCMP, pid, pid, 0, a, b, 0)
	return errno == 0 && order == 0
}

// errClosedInput is what a command gets that reads a standard input that was closed.
func errClosedInput() error {
	return fault.Usagef("</dev/null, if there is nothing to read",
		"standard input is closed, or is /dev/null opened for writing as well")
}

// writable returns an error if standard output was closed, so that no command acts whose answer
// nobody can get.
func writable(stdout *os.File) error {
	if !closed(stdout) {
		return nil
	}
	return fault.Usagef(">/dev/null, if nobody reads what it prints",
		"standard output is closed, or is /dev/null opened for reading as well")
}
