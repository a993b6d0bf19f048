package sandbox

import (
	"slices"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// never has the calls that no profile keeps. A call that is not in it, and has no
// condition below, is allowed: the Go runtime, and the C library where the program is
// linked with one, must find what they need in every version. Names that an architecture
// does not have are left out there.
var never = []string{
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

// ioctls has the requests that are made of a terminal. All others are refused: TIOCSTI
// types into the terminal that a stage may have as its standard error, and others do
// worse.
var ioctls = []uint64{unix.TCGETS, unix.TIOCGWINSZ, unix.TCFLSH}

// fcntls has the commands that the runtime needs. Others make a descriptor send signals
// to any process.
var fcntls = []uint64{
	unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL,
}

// fileModes has the modes that a stage gives to a file that it made: in a queue that has
// approvers, for an approver's answer (pulse-queue(5)), and for metrics.
var fileModes = []uint64{0o660, 0o640, 0o644}

// groups returns the rules of the filter. A condition names what is allowed and refuses
// anything else, never the other way round. The kernel looks at the lower half of most
// arguments and the filter sees both, so a bit in the upper half would get an argument
// past a comparison with what is forbidden.
func groups(p Profile, pid int, info *arch.Info) []seccomp.SyscallGroup {
	names := slices.Clone(never)
	if p.DNS == 0 {
		names = append(names, "socket", "connect")
	}
	if len(p.Write) == 0 {
		names = append(names, "fchmod", "utimensat")
	}
	var list []seccomp.SyscallGroup
	for some := range slices.Chunk(here(info, names), 40) {
		list = append(list, seccomp.SyscallGroup{Action: refuse, Names: some})
	}
	const how, none = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 0
	conditional := [][]seccomp.NameWithConditions{
		{unless("ioctl", 1, ioctls...)},
		{unless("fcntl", 1, fcntls...), async},
		{unless("prlimit64", 0, 0, uint64(pid))},
		{unless("kill", 0, uint64(pid))},
		{unless("tgkill", 0, uint64(pid))},
		{newProcess},
	}
	if len(p.Write) > 0 {
		conditional = append(conditional,
			[]seccomp.NameWithConditions{unless("fchmod", 1, fileModes...)},
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
		list = append(list, seccomp.SyscallGroup{Action: refuse, NamesWithCondtions: c})
	}
	// The flags of clone3 are in memory, out of the filter's sight. The C library falls
	// back to clone.
	return append(list, seccomp.SyscallGroup{Action: unknown, Names: here(info, []string{"clone3"})})
}

// cloneFlags is the argument of clone(2) that has the flags, on every architecture in the
// library's tables.
const cloneFlags = 0

// newProcess refuses clone(2) except for a thread.
var newProcess = seccomp.NameWithConditions{Name: "clone", Conditions: seccomp.ArgumentConditions{
	{Argument: cloneFlags, Operation: seccomp.BitsNotSet, Value: unix.CLONE_THREAD},
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
