//go:build amd64 || arm64

package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// nowhere has the calls that are kept neither by a stage nor by a box, in which the program of
// an agent runs. A call that is in no list, and has no condition below, is allowed: the Go
// runtime, the C library and any program must find what they need in every version. What only
// one architecture has is in nowhereHere.
var nowhere = []uint32{
	// calls that the kernel makes itself, past this filter
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// the memory and descriptors of other processes, in a box those of its process 1
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PROCESS_MRELEASE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
	// what may hold keys, or holes
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY,
	unix.SYS_REQUEST_KEY,
	unix.SYS_MEMFD_SECRET, unix.SYS_PERSONALITY,
	// the file system itself, and files by other means than a name
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	// other namespaces
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	// the machine
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE,
	unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_SETTIMEOFDAY,
	unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_LOOKUP_DCOOKIE,
}

// never has the calls that no profile of a stage keeps. Those that only one architecture has
// are in neverHere.
var never = slices.Concat(nowhere, []uint32{
	// new programs; threads are judged below
	unix.SYS_EXECVE, unix.SYS_EXECVEAT,
	// other ways to the network, and those that bypass connect(2): a Unix socket, a
	// server, TCP Fast Open with the first datagram
	unix.SYS_SOCKETPAIR, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_SENDTO,
	unix.SYS_SENDMSG, unix.SYS_SENDMMSG,
	// other processes
	unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_TKILL,
	unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO,
	// mode, owner, times and attributes (an ACL is one) of files by name: Landlock guards
	// only their content. A stage changes what it made itself by descriptor, below
	unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
	unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH,
	// how other processes run
	unix.SYS_SETPRIORITY, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM,
	unix.SYS_SCHED_SETATTR, unix.SYS_IOPRIO_SET,
	// what all processes of a user share by a number or a name: System V and POSIX IPC
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMDT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP,
	unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY,
	unix.SYS_MQ_GETSETATTR,
	// other users; setfsuid stays, because root acts with the rights of a queue's owner
	unix.SYS_CAPSET,
	unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETREUID, unix.SYS_SETREGID, unix.SYS_SETRESUID,
	unix.SYS_SETRESGID, unix.SYS_SETGROUPS,
})

// ioctls has the requests that are made of a terminal. All others are refused: TIOCSTI
// types into the terminal that a stage may have as its standard error, and others do
// worse.
var ioctls = []uint32{unix.TCGETS, unix.TIOCGWINSZ, unix.TCFLSH}

// fcntls has the commands that the runtime needs. Others make a descriptor send signals
// to any process.
var fcntls = []uint32{
	unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL,
}

// fileModes has the modes that a stage gives to a file that it made: in a queue that has
// approvers, for an approver's answer (pulse-queue(5)), and for metrics.
var fileModes = []uint32{0o660, 0o640, 0o644}

// refused returns the calls that a profile does not keep, in ascending order.
func refused(p Profile) []uint32 {
	list := slices.Concat(never, neverHere)
	if p.Way != 0 {
		list = slices.DeleteFunc(list, func(call uint32) bool { return call == unix.SYS_ACCEPT4 })
	}
	if p.DNS == 0 {
		list = append(list, unix.SYS_SOCKET, unix.SYS_CONNECT)
	}
	if len(p.Write) == 0 {
		list = append(list, unix.SYS_FCHMOD, unix.SYS_UTIMENSAT)
	}
	slices.Sort(list)
	return list
}

// conditions adds the rules about arguments. A condition names what is allowed and refuses
// anything else, never the other way round. The kernel looks at the lower half of most
// arguments and the filter sees both, so a bit in the upper half would get an argument
// past a comparison with what is forbidden.
func (f *filter) conditions(p Profile, pid uint32) {
	const how, none = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 0
	f.only(unix.SYS_IOCTL, 1, ioctls...)
	f.only(unix.SYS_FCNTL, 1, fcntls...)
	f.noAsync()
	f.only(unix.SYS_PRLIMIT64, 0, 0, pid)
	f.only(unix.SYS_KILL, 0, pid)
	f.only(unix.SYS_TGKILL, 0, pid)
	f.onlyThreads()
	if len(p.Write) > 0 {
		f.only(unix.SYS_FCHMOD, 1, fileModes...)
		f.only(unix.SYS_UTIMENSAT, 1, none) // with no name, the descriptor's file
	}
	if p.DNS != 0 {
		f.only(unix.SYS_SOCKET, 0, unix.AF_INET, unix.AF_INET6)
		f.only(unix.SYS_SOCKET, 1, unix.SOCK_STREAM|how, unix.SOCK_DGRAM|how)
		f.only(unix.SYS_SOCKET, 2, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP) // not MPTCP: Landlock does not guard it
	}
}

// noAsync refuses O_ASYNC: input to a terminal would send a signal to every process there.
// The upper half of the command is none, as only has seen to.
func (f *filter) noAsync() {
	f.about(unix.SYS_FCNTL, func(f *filter) {
		f.load(lower(1))
		f.jump(unix.BPF_JEQ, unix.F_SETFL, 0, 3)
		f.load(lower(2))
		f.jump(unix.BPF_JSET, unix.O_ASYNC, 0, 1)
		f.answer(refuse)
	})
}

// onlyThreads refuses clone(2) except for a thread. Its first argument has the flags.
func (f *filter) onlyThreads() {
	f.about(unix.SYS_CLONE, func(f *filter) {
		f.load(lower(0))
		f.jump(unix.BPF_JSET, unix.CLONE_THREAD, 1, 0)
		f.answer(refuse)
	})
}

// The families and protocols of the sockets of a box: Unix, TCP and UDP, and not Netlink, which
// talks to many parts of the kernel, virtual machines (vsock), packets or ciphers. An unnamed
// protocol is 0.
var (
	boxFamilies  = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}
	boxProtocols = []uint32{0, unix.AF_UNIX, unix.IPPROTO_TCP, unix.IPPROTO_UDP}
)

// The requests by which two files of an ext4 or xfs change what they hold. No file gets the time of
// that change.
const (
	ext4MoveExt      = 0xc028660f
	xfsSwapExt       = 0xc0c0586d
	xfsExchangeRange = 0x40285881
)

// boxIoctls has the requests that are refused in a box: they type into a terminal, make it the
// console, give it a driver for a modem, or change a file so that nobody sees that it changed.
var boxIoctls = []uint32{
	unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCCONS, unix.TIOCSETD, ext4MoveExt, xfsSwapExt, xfsExchangeRange,
}

// namespaces are the flags with which clone(2) makes a namespace.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// boxed adds the rules about arguments that hold in a box. What clone and ioctl are asked for,
// the kernel reads from the lower half alone, so here, and only here, some values are refused
// and all others allowed.
func (f *filter) boxed() {
	f.only(unix.SYS_SOCKET, 0, boxFamilies...)
	f.only(unix.SYS_SOCKET, 2, boxProtocols...)
	f.only(unix.SYS_SOCKETPAIR, 0, unix.AF_UNIX)
	f.about(unix.SYS_IOCTL, func(f *filter) {
		f.load(lower(1))
		for _, request := range boxIoctls {
			f.jump(unix.BPF_JEQ, request, 0, 1)
			f.answer(refuse)
		}
	})
	f.about(unix.SYS_CLONE, func(f *filter) {
		f.load(lower(0))
		f.jump(unix.BPF_JSET, namespaces, 0, 1)
		f.answer(refuse)
	})
}
