package cmdline

import (
	"os"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/fault"
)

// closed reports whether a standard stream was closed when the process began. What was read
// from it would be nothing, and what was written to it would be lost, with status 0: before any
// code of this program runs, Go's runtime opens /dev/null for reading and writing in its place.
// So such a /dev/null counts as closed, unless standard error is one too: daemon(3) and others
// who mean it give a program one for both outputs. What shells, systemd and os/exec open is for
// reading or for writing alone.
func closed(stream *os.File) bool { return replaced(stream) && !replaced(os.Stderr) }

func replaced(stream *os.File) bool {
	flags, err := unix.FcntlInt(stream.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return true
	}
	var stat unix.Stat_t
	return flags&unix.O_ACCMODE == unix.O_RDWR && unix.Fstat(int(stream.Fd()), &stat) == nil &&
		stat.Mode&unix.S_IFMT == unix.S_IFCHR && stat.Rdev == unix.Mkdev(1, 3)
}

// lost returns an error if the input of a stage was closed, or its output, which is all that it
// does. A command that reads nothing and acts, such as hold, does so all the same.
func lost(stdin *os.File) error {
	if closed(stdin) {
		return fault.Usagef("</dev/null, if there is nothing to read",
			"standard input is closed, or is /dev/null opened for writing as well")
	}
	return Printable()
}

// Printable returns an error if standard output was closed when the process began.
func Printable() error {
	if !closed(os.Stdout) {
		return nil
	}
	return fault.Usagef(">/dev/null, if nobody reads what it prints",
		"standard output is closed, or is /dev/null opened for reading as well")
}
