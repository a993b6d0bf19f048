package cmdline

import (
	"syscall"

	"pulse/lib/shared/fault"
)

// leastFiles is how many files a process must be allowed to have open. With fewer, Go's
// runtime ends the process with a trace when it begins to wait for a file.
const leastFiles = 32

// enoughFiles returns an error if the limit of open files is too low to work with (ulimit
// -n).
func enoughFiles() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= leastFiles {
		return nil
	}
	return fault.Temporaryf("ulimit -n 256",
		"only %d files may be open at once: want %d or more", limit.Cur, leastFiles)
}
