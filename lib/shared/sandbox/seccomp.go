package sandbox

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The answers of the filter. A call that is refused fails with EPERM. One that the filter
// can't judge fails as if it did not exist, and callers know how to do without. One by the
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

// seccompHere reports whether the kernel has filters, and they know this architecture.
// Those of 32 bits do not count: they have many calls twice, or as part of another one
// such as ipc(2).
func seccompHere() bool {
	info, err := arch.GetInfo("")
	return err == nil && strconv.IntSize == 64 && gapsOf[info.Name] != nil && seccomp.Supported()
}

// restrictCalls leaves the process the calls that the profile needs.
func restrictCalls(p Profile) error {
	program, err := assemble(p, os.Getpid())
	if err != nil {
		return err
	}
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

// assemble returns the filter. The library's own would let the calls of another
// architecture pass (int 0x80), and all that its tables do not have, so both are judged
// first. It also loads the number of the call only once, and then takes a loaded argument
// for the number. So each group is a filter of its own, which loads the number again.
func assemble(p Profile, pid int) ([]unix.SockFilter, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	list := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(kill)},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
	}
	gaps, ok := gapsOf[info.Name]
	if !ok {
		return nil, fmt.Errorf("the calls of %s are not known", info.Name)
	}
	for _, g := range gaps {
		list = append(list,
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: g.first, SkipFalse: 2},
			bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: g.last, SkipFalse: 1},
			bpf.RetConstant{Val: uint32(unknown)})
	}
	for _, g := range groups(p, pid, info) {
		policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{g}}
		rest, err := policy.Assemble()
		if err != nil {
			return nil, err
		}
		list = append(list, rest[:len(rest)-1]...) // without its last answer, for all other calls
	}
	raw, err := bpf.Assemble(append(list, bpf.RetConstant{Val: uint32(seccomp.ActionAllow)}))
	if err != nil {
		return nil, err
	}
	program := make([]unix.SockFilter, 0, len(raw))
	for _, in := range raw {
		program = append(program, unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K})
	}
	return program, nil
}

// gap is a range of numbers that no call in the library's table has.
type gap struct{ first, last uint32 }

// gapsOf has all of them, by the library's names of the architectures. To find them anew
// takes as long as the rest of the filter, in every start; a test compares. In the last one
// are calls that are newer than the table, and on x86-64 those of x32.
var gapsOf = map[string][]gap{
	"x86_64":  {{336, 423}, {468, math.MaxUint32}},
	"aarch64": {{245, 259}, {295, 402}, {415, 415}, {468, math.MaxUint32}},
}
