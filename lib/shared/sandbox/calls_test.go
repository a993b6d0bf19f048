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
	return judge(t, assemble(p, pid))
}

// judge returns a function that gives the answer of a filter to a call by its name.
func judge(t *testing.T, program []unix.SockFilter) func(name string, args ...uint64) uint32 {
	t.Helper()
	verdict, info := machine(t, instructions(program)), library(t)
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
		{"fchmodat", nil, eperm, eperm},
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
		{"fchmodat", nil, eperm},
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

// TestBox: what a program finds in a box beside its files and its network is refused, and what
// ordinary programs do is not.
func TestBox(t *testing.T) {
	const high = 1 << 32
	verdict := judge(t, box())
	for _, c := range []struct {
		name string
		args []uint64
		want uint32
	}{
		{"newer than the library", nil, enosys},
		{"x32", nil, enosys},
		{"of another architecture", nil, killed},
		{"clone3", nil, enosys},
		{"clone", []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, allowed},
		{"clone", []uint64{uint64(unix.SIGCHLD) | unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_PIDFD}, allowed},
		{"clone", []uint64{uint64(unix.SIGCHLD) | unix.CLONE_NEWUSER}, eperm},
		{"clone", []uint64{high | unix.CLONE_NEWNET}, eperm},
		{"clone", []uint64{unix.CLONE_NEWNS | unix.CLONE_THREAD}, eperm},
		{"socket", []uint64{unix.AF_UNIX, unix.SOCK_DGRAM}, allowed},
		{"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, unix.IPPROTO_TCP}, allowed},
		{"socket", []uint64{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP}, allowed},
		{"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, eperm},
		{"socket", []uint64{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW}, eperm},
		{"socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW}, eperm},
		{"socket", []uint64{high | unix.AF_NETLINK, unix.SOCK_RAW}, eperm},
		{"socket", []uint64{unix.AF_VSOCK, unix.SOCK_STREAM}, eperm},
		{"socket", []uint64{unix.AF_PACKET, unix.SOCK_RAW}, eperm},
		{"socket", []uint64{unix.AF_ALG, unix.SOCK_SEQPACKET}, eperm},
		{"socket", []uint64{unix.AF_KEY, unix.SOCK_RAW}, eperm},
		{"socketpair", []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, allowed},
		{"socketpair", []uint64{unix.AF_TIPC, unix.SOCK_STREAM}, eperm},
		{"ioctl", []uint64{0, unix.TCGETS}, allowed},
		{"ioctl", []uint64{0, unix.TIOCOUTQ}, allowed},
		{"ioctl", []uint64{0, unix.TIOCSPTLCK}, allowed},
		{"ioctl", []uint64{0, unix.TIOCSTI}, eperm},
		{"ioctl", []uint64{0, high | unix.TIOCSTI}, eperm},
		{"ioctl", []uint64{0, unix.TIOCLINUX}, eperm},
		{"ioctl", []uint64{0, high | unix.TIOCLINUX}, eperm},
		{"ioctl", []uint64{0, unix.TIOCSETD}, eperm},
		{"ioctl", []uint64{0, unix.TIOCCONS}, eperm},
		{"ioctl", []uint64{0, xfsSwapExt}, eperm},
		{"ioctl", []uint64{0, high | ext4MoveExt}, eperm},
		{"ioctl", []uint64{0, xfsExchangeRange}, eperm},
	} {
		if got := verdict(c.name, c.args...); got != c.want {
			t.Errorf("%s %x: %#x, want %#x", c.name, c.args, got, c.want)
		}
	}
	for _, name := range []string{
		"io_uring_setup", "userfaultfd", "keyctl", "add_key", "request_key", "ptrace", "process_vm_readv", "process_vm_writev",
		"pidfd_getfd", "kcmp", "bpf", "perf_event_open", "mount", "umount2", "fsopen", "open_tree", "move_mount", "mount_setattr",
		"pivot_root", "chroot", "unshare", "setns", "personality", "open_by_handle_at", "kexec_load", "init_module", "reboot",
	} {
		if got := verdict(name, 1, 2, 3, 4, 5, 6); got != eperm {
			t.Errorf("%s: %#x", name, got)
		}
	}
	for _, name := range []string{
		"execve", "wait4", "waitid", "kill", "tgkill", "tkill", "pidfd_open", "pidfd_send_signal", "futex", "epoll_wait", "eventfd2",
		"inotify_init1", "inotify_add_watch", "memfd_create", "bind", "listen", "accept4", "connect", "sendto", "sendmsg", "recvmsg",
		"chmod", "fchmodat", "chown", "utimensat", "setxattr", "rename", "setpriority", "sched_setaffinity", "shmget", "setsid",
		"prctl", "seccomp", "landlock_restrict_self", "getrandom", "statx", "copy_file_range", "splice", "setuid", "prlimit64",
	} {
		if len(here(library(t), []string{name})) == 0 { // arm64 has no chmod(2)
			continue
		}
		if got := verdict(name, 1, 2, 3, 4, 5, 6); got != allowed {
			t.Errorf("%s: %#x", name, got)
		}
	}
}

// TestBoxIsOfTheTable: a box refuses nothing that a stage keeps, except by its arguments, and
// whatever it refuses is one of never.
func TestBoxIsOfTheTable(t *testing.T) {
	all := slices.Concat(never, neverHere)
	for _, call := range slices.Concat(nowhere, nowhereHere) {
		if !slices.Contains(all, call) {
			t.Errorf("call %d", call)
		}
	}
	if n := len(Box()); n != 8*len(box()) || n == 0 {
		t.Errorf("%d bytes for %d instructions", n, len(box()))
	}
}

// TestWay: a way out takes connections and makes others, and no other stage takes any.
func TestWay(t *testing.T) {
	way, source := verdicts(t, Way(443), 1), verdicts(t, Source(53), 1)
	if way("accept4") != allowed || source("accept4") != eperm {
		t.Errorf("%#x, and of fetch %#x", way("accept4"), source("accept4"))
	}
	for _, name := range []string{"accept", "bind", "listen", "execve", "sendmsg", "ptrace"} {
		if name := here(library(t), []string{name}); len(name) > 0 && way(name[0]) != eperm {
			t.Errorf("%s: %#x", name, way(name[0]))
		}
	}
}
