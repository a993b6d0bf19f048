package cmdline

import (
	"syscall"

	"pulse/lib/fault"
)

// leastFiles is how many files a process must be allowed to have open: with fewer the
// runtime of Go ends it with a trace when it begins to wait for one.
const leastFiles = 32

// enoughFiles returns an error where a limit is too low to work with (ulimit -n).
func enoughFiles() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= leastFiles {
		return nil
	}
	return fault.Temporaryf("ulimit -n 256",
		"only %d files may be open at once: want %d or more", limit.Cur, leastFiles)
}
