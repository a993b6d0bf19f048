//go:build amd64 || arm64

package sandbox

import (
	"maps"
	"slices"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// data returns what a filter sees of a call: struct seccomp_data. The machine of
// golang.org/x/net/bpf reads each word of it with its most significant byte first.
func data(number, architecture uint32, args ...uint64) []byte {
	words := []uint32{number, architecture, 0, 0}
	for i := range 6 {
		var a uint64
		if i < len(args) {
			a = args[i]
		}
		words = append(words, uint32(a), uint32(a>>32)) // the lower half stands first
	}
	b := make([]byte, 0, 4*len(words))
	for _, w := range words {
		b = append(b, byte(w>>24), byte(w>>16), byte(w>>8), byte(w))
	}
	return b
}

// verdicts returns a function that gives the answer of a profile's filter, as the kernel
// would get it.
func verdicts(t *testing.T, p Profile, pid int) func(name string, args ...uint64) uint32 {
	t.Helper()
	verdict, info := machine(t, instructions(assemble(p, pid))), library(t)
	return func(name string, args ...uint64) uint32 {
		n, id := uint32(info.SyscallNames[name]), uint32(info.ID)
		switch name {
		case "newer than the library":
			n = uint32(slices.Max(slices.Collect(maps.Keys(info.SyscallNumbers)))) + 1
		case "x32":
			n = 0x40000000
		case "of another architecture":
			id++
		default:
			if _, ok := info.SyscallNames[name]; !ok {
				t.Fatalf("there is no call %s", name)
			}
		}
		return verdict(data(n, id, args...))
	}
}

func instructions(program []unix.SockFilter) (list []bpf.Instruction) {
	for _, in := range program {
		list = append(list, bpf.RawInstruction{Op: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}.Disassemble())
	}
	return list
}

// machine returns a function that runs a filter.
func machine(t *testing.T, program []bpf.Instruction) func(data []byte) uint32 {
	t.Helper()
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	return func(data []byte) uint32 {
		verdict, err := vm.Run(data) // what the machine takes for the length of a packet
		if err != nil {
			t.Fatal(err)
		}
		return uint32(verdict)
	}
}

// The verdicts, as the kernel has them.
const (
	allowed = unix.SECCOMP_RET_ALLOW
	eperm   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	enosys  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	killed  = unix.SECCOMP_RET_KILL_PROCESS
)

func TestVerdicts(t *testing.T) {
	const pid, high = 4711, 1 << 32
	const how = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	for _, c := range []struct {
		name      string
		args      []uint64
		want, dns uint32
	}{
		{"newer than the library", nil, enosys, enosys},
		{"x32", nil, enosys, enosys},
		{"of another architecture", nil, killed, killed},
		{"clone3", nil, enosys, enosys},
		{"chmod", nil, eperm, eperm},
		{"fchmod", []uint64{0, 0o660}, eperm, eperm}, // a profile without files of its own
		{"utimensat", []uint64{0, 0}, eperm, eperm},
		{"fcntl", []uint64{0, unix.F_SETFL, unix.O_NONBLOCK}, allowed, allowed},
		{"fcntl", []uint64{0, unix.F_SETFL, unix.O_NONBLOCK | unix.O_ASYNC}, eperm, eperm},
		{"fcntl", []uint64{0, high | unix.F_SETFL, unix.O_ASYNC}, eperm, eperm},
		{"fcntl", []uint64{0, unix.F_DUPFD_CLOEXEC, 3}, allowed, allowed},
		{"fcntl", []uint64{0, unix.F_SETOWN, 1}, eperm, eperm},
		{"fcntl", []uint64{0, unix.F_SETOWN_EX, 1}, eperm, eperm},
		{"fcntl", []uint64{0, unix.F_SETSIG, 9}, eperm, eperm},
		{"prlimit64", []uint64{0, unix.RLIMIT_NOFILE}, allowed, allowed},
		{"prlimit64", []uint64{pid, unix.RLIMIT_NOFILE}, allowed, allowed},
		{"prlimit64", []uint64{1, unix.RLIMIT_NOFILE}, eperm, eperm},
		{"prlimit64", []uint64{high | pid, unix.RLIMIT_NOFILE}, eperm, eperm},
		{"sched_getaffinity", []uint64{0}, allowed, allowed}, // the runtime asks every second
		{"sched_setaffinity", []uint64{0}, eperm, eperm},
		{"sched_yield", nil, allowed, allowed},

		{"read", nil, allowed, allowed},
		{"futex", nil, allowed, allowed},
		{"mmap", nil, allowed, allowed},
		{"epoll_pwait", nil, allowed, allowed},
		{"rt_sigaction", nil, allowed, allowed},
		{"getrandom", nil, allowed, allowed},
		{"landlock_restrict_self", nil, allowed, allowed},
		{"exit_group", nil, allowed, allowed},

		{"clone", []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, allowed, allowed},
		{"clone", []uint64{unix.CLONE_VM | unix.CLONE_VFORK}, eperm, eperm},
		{"clone", []uint64{0}, eperm, eperm},
		{"kill", []uint64{pid, 15}, allowed, allowed},
		{"kill", []uint64{high | pid, 15}, eperm, eperm},
		{"kill", []uint64{1, 9}, eperm, eperm},
		{"kill", []uint64{1<<64 - 1, 9}, eperm, eperm}, // all processes
		{"kill", []uint64{0, 9}, eperm, eperm},         // the process group
		{"tgkill", []uint64{pid, 4712, 23}, allowed, allowed},
		{"tgkill", []uint64{1, 1, 9}, eperm, eperm},
		{"ioctl", []uint64{0, unix.TCGETS}, allowed, allowed},
		{"ioctl", []uint64{0, unix.TIOCGWINSZ}, allowed, allowed},
		{"ioctl", []uint64{0, unix.TIOCSTI}, eperm, eperm},
		{"ioctl", []uint64{0, high | unix.TIOCSTI}, eperm, eperm},
		{"ioctl", []uint64{0, unix.TIOCLINUX}, eperm, eperm},

		{"connect", nil, eperm, allowed},
		{"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM | how}, eperm, allowed},
		{"socket", []uint64{unix.AF_INET6, unix.SOCK_DGRAM | how}, eperm, allowed},
		{"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM | how, unix.IPPROTO_TCP}, eperm, allowed},
		{"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM | how, unix.IPPROTO_MPTCP}, eperm, eperm},
		{"socket", []uint64{unix.AF_INET, unix.SOCK_DGRAM | how, unix.IPPROTO_ICMP}, eperm, eperm},
		{"socket", []uint64{unix.AF_INET, unix.SOCK_RAW | how}, eperm, eperm},
		{"socket", []uint64{unix.AF_INET, unix.SOCK_SEQPACKET | how}, eperm, eperm},
		{"socket", []uint64{unix.AF_INET, high | unix.SOCK_STREAM | how}, eperm, eperm},
		{"socket", []uint64{unix.AF_UNIX, unix.SOCK_STREAM | how}, eperm, eperm},
		{"socket", []uint64{high | unix.AF_UNIX, unix.SOCK_STREAM | how}, eperm, eperm},
		{"socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW}, eperm, eperm},
		{"socket", []uint64{unix.AF_VSOCK, unix.SOCK_STREAM | how}, eperm, eperm},
		{"socket", []uint64{unix.AF_PACKET, unix.SOCK_RAW}, eperm, eperm},
		{"socket", []uint64{unix.AF_ALG, unix.SOCK_SEQPACKET}, eperm, eperm},
	} {
		for p, want := range map[*Profile]uint32{{}: c.want, {DNS: 53}: c.dns} {
			if got := verdicts(t, *p, pid)(c.name, c.args...); got != want {
				t.Errorf("%s %x, DNS %d: %#x, want %#x", c.name, c.args, p.DNS, got, want)
			}
		}
	}
}

// TestWriting: a stage that makes files can change them by descriptor, and give them only
// the modes that a queue and metrics need.
func TestWriting(t *testing.T) {
	for _, c := range []struct {
		name string
		args []uint64
		want uint32
	}{
		{"fchmod", []uint64{3, 0o660}, allowed},
		{"fchmod", []uint64{3, 0o640}, allowed},
		{"fchmod", []uint64{3, 0o644}, allowed},
		{"fchmod", []uint64{3, 0o666}, eperm},
		{"fchmod", []uint64{3, 0o4660}, eperm},
		{"fchmod", []uint64{3, 1<<32 | 0o660}, eperm},
		{"utimensat", []uint64{3, 0, 1 << 40, 0}, allowed},
		{"utimensat", []uint64{3, 1 << 40, 1 << 40, 0}, eperm},
		{"utimensat", []uint64{3, 1 << 20, 1 << 40, 0}, eperm},
		{"chmod", nil, eperm},
		{"fchown", nil, eperm},
		{"fsetxattr", nil, eperm},
	} {
		if got := verdicts(t, Queue("/tmp"), 4711)(c.name, c.args...); got != c.want {
			t.Errorf("%s %x: %#x, want %#x", c.name, c.args, got, c.want)
		}
	}
}

// TestArgumentsAreNotCalls: an allowed argument that is the number of another call is not
// judged as that call. In a container a process can have such an id.
func TestArgumentsAreNotCalls(t *testing.T) {
	info := library(t)
	for _, name := range []string{"kill", "tgkill", "clone", "clone3", "fcntl", "fchmod", "execve", "prlimit64", "utimensat"} {
		pid := info.SyscallNames[name]
		verdict := verdicts(t, Queue("/tmp"), pid)
		for call, args := range map[string][]uint64{
			"kill": {uint64(pid), 15}, "tgkill": {uint64(pid), 4712, 23}, "prlimit64": {uint64(pid), unix.RLIMIT_NOFILE},
			"fcntl": {1, unix.F_DUPFD, uint64(pid)},
		} {
			if got := verdict(call, args...); got != allowed {
				t.Errorf("%s by process %d: %#x", call, pid, got)
			}
		}
	}
}

// TestGaps: the gaps of every architecture hold exactly what is not in the library's table.
func TestGaps(t *testing.T) {
	for info, gaps := range map[*arch.Info][]gap{arch.X86_64: gapsAMD64, arch.AARCH64: gapsARM64} {
		within := func(n uint32) bool {
			return slices.ContainsFunc(gaps, func(g gap) bool { return g.first <= n && n <= g.last })
		}
		for n := range uint32(5000) {
			if _, known := info.SyscallNumbers[int(n)]; within(n) == known {
				t.Errorf("%s: %d", info.Name, n)
			}
		}
		if !within(0x40000000) || !within(1<<32-1) {
			t.Errorf("%s: %+v", info.Name, gaps)
		}
	}
}

// TestNever: every name in neverNames is refused whatever its arguments.
func TestNever(t *testing.T) {
	for _, dns := range []uint16{0, 53} {
		verdict := verdicts(t, Profile{DNS: dns}, 1)
		for _, name := range here(library(t), neverNames) {
			if got := verdict(name, 1, 2, 3, 4, 5, 6); got != eperm {
				t.Errorf("%s: %#x", name, got)
			}
		}
	}
}
