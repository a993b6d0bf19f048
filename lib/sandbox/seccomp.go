package sandbox

import (
	"os"
	"runtime"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The answers of the filter. A call that is refused fails with EPERM; one that the
// filter can't judge does not exist, and callers know to do without; one by the
// numbers of another architecture is an attack.
const (
	refuse  = seccomp.ActionErrno | seccomp.Action(unix.EPERM)
	unknown = seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)
	kill    = seccomp.ActionKillProcess
)

// Where struct seccomp_data has the number of the call and the architecture.
const (
	offNumber = 0
	offArch   = 4
)

// seccompHere reports whether there are filters here, and for this architecture.
func seccompHere() bool {
	_, err := arch.GetInfo("")
	return err == nil && seccomp.Supported()
}

// restrictCalls leaves the process the calls that the profile needs.
func restrictCalls(p Profile) error {
	program, err := assemble(p, os.Getpid())
	if err != nil {
		return err
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// The flag below takes both to all threads; the first call must be of the same one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return errno
	}
	if thread != 0 { // one that has a filter of its own
		return unix.EBUSY
	}
	return nil
}

// assemble returns the filter. The library's own lets the calls of another
// architecture pass (int 0x80), and all that came after its tables were made, so both
// are judged before.
func assemble(p Profile, pid int) ([]unix.SockFilter, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: groups(p, pid, info)}
	rest, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(kill)},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: highest(info), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(unknown)},
	}, rest...))
	if err != nil {
		return nil, err
	}
	program := make([]unix.SockFilter, 0, len(raw))
	for _, in := range raw {
		program = append(program, unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K})
	}
	return program, nil
}

// highest returns the number of the newest call in the library's table.
func highest(info *arch.Info) (most uint32) {
	for n := range info.SyscallNumbers {
		most = max(most, uint32(n))
	}
	return most
}
