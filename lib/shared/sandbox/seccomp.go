//go:build amd64 || arm64

package sandbox

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seccompHere reports whether the kernel has filters: then it knows the operation, and
// objects to the flags.
func seccompHere() bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_STRICT, 1, 0)
	return errno == unix.EINVAL
}

// restrictCalls leaves the process the calls that the profile needs.
func restrictCalls(p Profile) error {
	program := assemble(p, os.Getpid())
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// TSYNC takes both to all threads; the thread that sets the filter must be the one that
	// called prctl.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return errno
	}
	if thread != 0 { // this thread has a filter of its own
		return unix.EBUSY
	}
	return nil
}
