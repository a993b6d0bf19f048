//go:build amd64 || arm64

package sandbox

import (
	"slices"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// neverNames is never, by name. Names that an architecture does not have are left out there.
var neverNames = []string{
	// new programs; threads are judged below
	"execve", "execveat", "fork", "vfork",
	// other ways to the network, and those that bypass connect(2): a Unix socket, a
	// server, TCP Fast Open with the first datagram
	"socketpair", "bind", "listen", "accept", "accept4", "sendto", "sendmsg", "sendmmsg",
	// calls that the kernel makes itself, past this filter
	"io_uring_setup", "io_uring_enter", "io_uring_register",
	// other processes
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp",
	"pidfd_open", "pidfd_getfd", "pidfd_send_signal", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
	// what may hold keys, or holes
	"bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key",
	"memfd_secret", "modify_ldt", "personality",
	// the file system itself, and files by other means than a name
	"mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr",
	"fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
	"swapon", "swapoff", "quotactl", "quotactl_fd", "name_to_handle_at", "open_by_handle_at", "fanotify_init",
	// mode, owner, times and attributes (an ACL is one) of files by name: Landlock guards
	// only their content. A stage changes what it made itself by descriptor, below
	"chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat", "utime", "utimes", "futimesat",
	"setxattr", "lsetxattr", "fsetxattr", "setxattrat",
	"removexattr", "lremovexattr", "fremovexattr", "removexattrat",
	"uselib", "inotify_init", "inotify_init1", "inotify_add_watch",
	// how other processes run, and where their memory lies
	"setpriority", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr",
	"ioprio_set", "move_pages", "migrate_pages",
	// what all processes of a user share by a number or a name: System V and POSIX IPC
	"shmget", "shmat", "shmdt", "shmctl", "semget", "semop", "semtimedop", "semctl",
	"msgget", "msgsnd", "msgrcv", "msgctl",
	"mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
	// other namespaces, other users; setfsuid stays, because root acts with the rights of a
	// queue's owner
	"unshare", "setns", "capset",
	"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups",
	// the machine
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
	"reboot", "acct", "syslog", "vhangup", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
	"sethostname", "setdomainname", "ioperm", "iopl", "lookup_dcookie",
}

// library returns what the library knows about this architecture.
func library(t *testing.T) *arch.Info {
	t.Helper()
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// oracle returns the filter of a profile as the library makes it of the names of the calls.
// It would let the calls of another architecture pass (int 0x80), and all that its tables do
// not have, so both are judged first. It also loads the number of the call only once, and
// then takes a loaded argument for the number. So each group is a filter of its own, which
// loads the number again.
func oracle(t *testing.T, p Profile, pid int) []bpf.Instruction {
	info := library(t)
	list := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: kill},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
	}
	for _, g := range gaps {
		list = append(list,
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: g.first, SkipFalse: 2},
			bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: g.last, SkipFalse: 1},
			bpf.RetConstant{Val: unknown})
	}
	for _, g := range groups(p, pid, info) {
		policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{g}}
		rest, err := policy.Assemble()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rest[:len(rest)-1]...) // without its last answer, for all other calls
	}
	return append(list, bpf.RetConstant{Val: allow})
}

// groups returns the rules of the filter, as the library wants them.
func groups(p Profile, pid int, info *arch.Info) []seccomp.SyscallGroup {
	names := slices.Clone(neverNames)
	if p.DNS == 0 {
		names = append(names, "socket", "connect")
	}
	if len(p.Write) == 0 {
		names = append(names, "fchmod", "utimensat")
	}
	var list []seccomp.SyscallGroup
	for some := range slices.Chunk(here(info, names), 40) {
		list = append(list, seccomp.SyscallGroup{Action: seccomp.Action(refuse), Names: some})
	}
	const how, none = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 0
	conditional := [][]seccomp.NameWithConditions{
		{unless("ioctl", 1, wide(ioctls)...)},
		{unless("fcntl", 1, wide(fcntls)...), async},
		{unless("prlimit64", 0, 0, uint64(pid))},
		{unless("kill", 0, uint64(pid))},
		{unless("tgkill", 0, uint64(pid))},
		{newProcess},
	}
	if len(p.Write) > 0 {
		conditional = append(conditional,
			[]seccomp.NameWithConditions{unless("fchmod", 1, wide(fileModes)...)},
			[]seccomp.NameWithConditions{unless("utimensat", 1, none)}) // with no name, the descriptor's file
	}
	if p.DNS != 0 {
		conditional = append(conditional, []seccomp.NameWithConditions{
			unless("socket", 0, unix.AF_INET, unix.AF_INET6),
			unless("socket", 1, unix.SOCK_STREAM|how, unix.SOCK_DGRAM|how),
			unless("socket", 2, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP), // not MPTCP: Landlock does not guard it
		})
	}
	for _, c := range conditional {
		list = append(list, seccomp.SyscallGroup{Action: seccomp.Action(refuse), NamesWithCondtions: c})
	}
	return append(list, seccomp.SyscallGroup{Action: seccomp.Action(unknown), Names: here(info, []string{"clone3"})})
}

// newProcess refuses clone(2) except for a thread.
var newProcess = seccomp.NameWithConditions{Name: "clone", Conditions: seccomp.ArgumentConditions{
	{Argument: 0, Operation: seccomp.BitsNotSet, Value: unix.CLONE_THREAD},
}}

// unless refuses a call whose argument is not one of the values.
func unless(name string, argument uint32, values ...uint64) seccomp.NameWithConditions {
	rule := seccomp.NameWithConditions{Name: name}
	for _, v := range values {
		rule.Conditions = append(rule.Conditions,
			seccomp.Condition{Argument: argument, Operation: seccomp.NotEqual, Value: v})
	}
	return rule
}

// async refuses O_ASYNC: input to a terminal would send a signal to every process there.
var async = seccomp.NameWithConditions{Name: "fcntl", Conditions: seccomp.ArgumentConditions{
	{Argument: 1, Operation: seccomp.Equal, Value: unix.F_SETFL},
	{Argument: 2, Operation: seccomp.BitsSet, Value: unix.O_ASYNC},
}}

// here returns the names that the architecture has.
func here(info *arch.Info, names []string) (list []string) {
	for _, name := range names {
		if _, ok := info.SyscallNames[name]; ok {
			list = append(list, name)
		}
	}
	return list
}

func wide(list []uint32) (all []uint64) {
	for _, v := range list {
		all = append(all, uint64(v))
	}
	return all
}

// TestOracle: every number gets the answer of the library's filter, whatever its arguments.
func TestOracle(t *testing.T) {
	const pid, high, how = 4711, 1 << 32, unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	values := slices.Concat(wide(ioctls), wide(fcntls), wide(fileModes), []uint64{
		0, 1, 2, pid, pid + 1, high, high | pid, high | 0o660, high | unix.F_SETFL, 1<<64 - 1,
		unix.AF_INET6, unix.SOCK_STREAM | how, unix.SOCK_DGRAM | how, unix.SOCK_RAW, unix.IPPROTO_TCP, unix.IPPROTO_UDP,
		unix.IPPROTO_MPTCP, unix.O_ASYNC, unix.O_ASYNC | unix.O_NONBLOCK, unix.CLONE_THREAD, unix.CLONE_THREAD | unix.CLONE_VM,
		unix.CLONE_VM, unix.TIOCSTI, unix.F_SETOWN, 0o666,
	})
	slices.Sort(values)
	values = slices.Compact(values)
	info := library(t)
	for _, p := range []Profile{Pipe(), {Write: []string{"/tmp"}, DNS: 53}} {
		ours, theirs := machine(t, instructions(assemble(p, pid))), machine(t, oracle(t, p, pid))
		compare := func(number uint32, args ...uint64) {
			d := data(number, uint32(info.ID), args...)
			if got, want := ours(d), theirs(d); got != want {
				t.Errorf("%+v: call %d %x: %#x, want %#x", p, number, args, got, want)
			}
		}
		for _, n := range []uint32{1 << 30, 1<<30 | 59, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			compare(n)
		}
		for n := range uint32(600) {
			for _, v := range values {
				compare(n, v, v, v)
			}
		}
		for _, name := range conditional {
			n := uint32(info.SyscallNames[name])
			for _, a := range values {
				for _, b := range values {
					compare(n, a, b, 0)
					compare(n, 0, a, b)
					compare(n, unix.AF_INET, a, b)
					compare(n, a, unix.F_SETFL, b)
				}
			}
		}
	}
}

// conditional has the calls whose arguments decide, in one profile or another.
var conditional = []string{"socket", "connect", "ioctl", "fcntl", "prlimit64", "fchmod", "utimensat", "kill", "tgkill", "clone", "clone3"}

// TestNumbers: the calls that are refused are those of the names, each once.
func TestNumbers(t *testing.T) {
	info := library(t)
	var want []uint32
	for _, name := range here(info, neverNames) {
		want = append(want, uint32(info.SyscallNames[name]))
	}
	got := slices.Concat(never, neverHere)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d, want %d", got, want)
	}
	if list := here(arch.X86_64, append(slices.Clone(conditional), neverNames...)); len(list) != len(conditional)+len(neverNames) {
		t.Errorf("not all are calls: %q", list)
	}
	if list := here(arch.AARCH64, neverNames); len(list) != len(never) {
		t.Errorf("on arm64: %q", list)
	}
}
