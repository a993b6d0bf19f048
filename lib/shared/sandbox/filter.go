//go:build amd64 || arm64

package sandbox

import (
	"math"
	"slices"

	"golang.org/x/sys/unix"
)

// The answers of the filter. A call that is refused fails with EPERM. One that the filter
// can't judge fails as if it did not exist, and callers know how to do without. One by the
// numbers of another architecture is an attack.
const (
	allow   = unix.SECCOMP_RET_ALLOW
	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	kill    = unix.SECCOMP_RET_KILL_PROCESS
)

// Where struct seccomp_data has the number of the call and the architecture.
const (
	offNumber = 0
	offArch   = 4
)

// lower and upper return where it has the halves of an argument.
func lower(arg uint32) uint32 { return 16 + 8*arg }
func upper(arg uint32) uint32 { return lower(arg) + 4 }

// gap is a range of numbers.
type gap struct{ first, last uint32 }

// The numbers that are no call's, by architecture. In the last gap are calls that are newer
// than these tables, and on x86-64 those of x32.
var (
	gapsAMD64 = []gap{{336, 423}, {468, math.MaxUint32}}
	gapsARM64 = []gap{{245, 259}, {295, 402}, {415, 415}, {468, math.MaxUint32}}
)

// filter is a program for the machine of bpf(4). Between its parts, the number of the call
// is loaded.
type filter []unix.SockFilter

func (f *filter) load(off uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off})
}

// jump skips instructions: yes of them if what was loaded fulfils the condition, otherwise no.
func (f *filter) jump(cond uint16, k uint32, yes, no int) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | cond, K: k, Jt: uint8(yes), Jf: uint8(no)})
}

func (f *filter) answer(with uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: with})
}

// assemble returns the filter of a profile.
func assemble(p Profile, pid int) []unix.SockFilter {
	return program(func(f *filter) { f.conditions(p, uint32(pid)) }, refused(p))
}

// program returns a filter with conditions that refuses calls, which are in ascending order. The
// fewer instructions a call takes the better, because the kernel follows each number through the
// filter when it takes it.
func program(conditions func(f *filter), calls []uint32) []unix.SockFilter {
	f := make(filter, 0, 256)
	f.load(offArch)
	f.jump(unix.BPF_JEQ, archHere, 1, 0)
	f.answer(kill)
	f.load(offNumber)
	for _, g := range gaps {
		f.jump(unix.BPF_JGE, g.first, 0, 2)
		f.jump(unix.BPF_JGT, g.last, 1, 0)
		f.answer(unknown)
	}
	// The flags of clone3 are in memory, out of the filter's sight. The C library falls
	// back to clone.
	f.about(unix.SYS_CLONE3, func(f *filter) { f.answer(unknown) })
	conditions(&f)
	f.none(calls)
	f.answer(allow)
	return f
}

// about adds what judges one call. If that gives no answer, the filter goes on.
func (f *filter) about(call uint32, judge func(f *filter)) {
	f.jump(unix.BPF_JEQ, call, 0, 0)
	at := len(*f)
	judge(f)
	f.load(offNumber)
	(*f)[at-1].Jf = uint8(len(*f) - at)
}

// only refuses a call whose argument is not one of the values.
func (f *filter) only(call, arg uint32, values ...uint32) {
	f.about(call, func(f *filter) {
		f.load(upper(arg))
		f.jump(unix.BPF_JEQ, 0, 0, 1+len(values))
		f.load(lower(arg))
		for i, v := range values {
			f.jump(unix.BPF_JEQ, v, len(values)-i, 0)
		}
		f.answer(refuse)
	})
}

// none refuses calls, which are in ascending order. It takes them some at a time, so that
// most numbers pass most of them in one instruction.
func (f *filter) none(calls []uint32) {
	for some := range slices.Chunk(calls, 12) {
		n := len(some)
		f.jump(unix.BPF_JGT, some[n-1], n+2, 0)
		for i, call := range some {
			f.jump(unix.BPF_JEQ, call, n-i, 0)
		}
		f.answer(allow)
		f.answer(refuse)
	}
}
