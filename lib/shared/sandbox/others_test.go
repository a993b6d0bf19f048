package sandbox

import (
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// others are attempts on what no descriptor of a stage stands for: the mode, the owner,
// the times and the attributes of files, how another process runs, and what is shared by
// name.
var others = map[string]func(w *world) error{
	"chmod":     func(w *world) error { return unix.Fchmodat(unix.AT_FDCWD, w.file(), 0o666, 0) },
	"fchmodat2": func(w *world) error { return call(unix.SYS_FCHMODAT2, cwd, text(w.file()), 0o666, 0) },
	"chmod by its descriptor": func(w *world) error {
		return looked(w.file(), func(fd int) error { return call(unix.SYS_FCHMODAT2, uintptr(fd), text(""), 0o666, unix.AT_EMPTY_PATH) })
	},
	"chown":  func(w *world) error { return unix.Fchownat(unix.AT_FDCWD, w.file(), os.Getuid(), os.Getgid(), 0) },
	"lchown": func(w *world) error { return os.Lchown(w.file(), os.Getuid(), os.Getgid()) },
	"chown by its descriptor": func(w *world) error {
		return looked(w.file(), func(fd int) error {
			return unix.Fchownat(fd, "", os.Getuid(), os.Getgid(), unix.AT_EMPTY_PATH)
		})
	},
	"times": func(w *world) error { return unix.UtimesNanoAt(unix.AT_FDCWD, w.file(), make([]unix.Timespec, 2), 0) },
	"times by its descriptor": func(w *world) error {
		return looked(w.file(), func(fd int) error {
			return unix.UtimesNanoAt(fd, "", make([]unix.Timespec, 2), unix.AT_EMPTY_PATH)
		})
	},
	"attribute":             func(w *world) error { return unix.Setxattr(w.file(), "user.pulse", []byte("x"), 0) },
	"attribute of the link": func(w *world) error { return unix.Lsetxattr(w.file(), "user.pulse", []byte("x"), 0) },
	"setxattrat":            setxattrat,
	"removexattr":           func(w *world) error { return unix.Removexattr(w.file(), "user.pulse") },
	"lremovexattr":          func(w *world) error { return unix.Lremovexattr(w.file(), "user.pulse") },
	"removexattrat":         func(w *world) error { return call(unix.SYS_REMOVEXATTRAT, cwd, text(w.file()), 0, text("user.pulse")) },
	"acl":                   func(w *world) error { return unix.Setxattr(w.file(), "system.posix_acl_access", acl, 0) },
	"watch": func(w *world) error {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = unix.InotifyAddWatch(fd, w.Other, unix.IN_CREATE)
		return err
	},

	// A file that is read is not changed, and one that is written is not opened to everyone.
	"chmod what is read": func(w *world) error { return read(w, func(fd int) error { return unix.Fchmod(fd, 0o777) }) },
	"chown what is read": func(w *world) error {
		return read(w, func(fd int) error { return unix.Fchown(fd, os.Getuid(), os.Getgid()) })
	},
	"attribute what is read": func(w *world) error {
		return read(w, func(fd int) error { return unix.Fsetxattr(fd, "user.pulse", nil, 0) })
	},
	"unattribute what is read": func(w *world) error {
		return read(w, func(fd int) error { return unix.Fremovexattr(fd, "user.pulse") })
	},
	"chmod stdin": func(w *world) error { return unix.Fchmod(0, 0o777) },
	"chmod kept":  func(w *world) error { return made(w, func(fd int) error { return unix.Fchmod(fd, 0o660) }) },
	"times kept": func(w *world) error {
		return made(w, func(fd int) error {
			ts := make([]unix.Timespec, 2)
			return call(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&ts[0])), 0)
		})
	},

	"limits": func(w *world) error { var l unix.Rlimit; return unix.Prlimit(w.Parent, unix.RLIMIT_NOFILE, nil, &l) },
	"setpriority": func(w *world) error {
		nice, _ := unix.Getpriority(unix.PRIO_PROCESS, w.Parent)
		return unix.Setpriority(unix.PRIO_PROCESS, w.Parent, 20-nice)
	},
	"affinity": func(w *world) error { return affinity(w.Parent) },
	"scheduler": func(w *world) error {
		return call(unix.SYS_SCHED_SETSCHEDULER, uintptr(w.Parent), unix.SCHED_NORMAL, zeros())
	},
	"parameter": func(w *world) error { return call(unix.SYS_SCHED_SETPARAM, uintptr(w.Parent), zeros()) },
	"sched_setattr": func(w *world) error {
		return unix.SchedSetAttr(w.Parent, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}, 0)
	},
	"ioprio":      func(w *world) error { return call(unix.SYS_IOPRIO_SET, 1, uintptr(w.Parent), 0) },
	"move memory": func(w *world) error { return call(unix.SYS_MOVE_PAGES, uintptr(w.Parent), 0, 0, 0, 0, 0) },
	"migrate":     func(w *world) error { return call(unix.SYS_MIGRATE_PAGES, uintptr(w.Parent), 64, zeros(), zeros()) },
	"out of memory": func(w *world) error {
		return openAndClose("/proc/"+strconv.Itoa(w.Parent)+"/oom_score_adj", os.O_WRONLY)
	},
	"owner of input":  func(w *world) error { _, err := unix.FcntlInt(0, unix.F_SETOWN, w.Parent); return err },
	"signal of input": func(w *world) error { _, err := unix.FcntlInt(0, unix.F_SETSIG, int(unix.SIGURG)); return err },
	"async input": func(w *world) error {
		flags, err := unix.FcntlInt(0, unix.F_GETFL, 0)
		if err == nil {
			_, err = unix.FcntlInt(0, unix.F_SETFL, flags|unix.O_ASYNC)
			unix.FcntlInt(0, unix.F_SETFL, flags)
		}
		return err
	},

	"shared memory": func(w *world) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err == nil {
			_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
		return err
	},
	"semaphores":     func(w *world) error { return ipc(unix.SYS_SEMGET, unix.SYS_SEMCTL, 1) },
	"messages":       func(w *world) error { return ipc(unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.IPC_CREAT|0o600) },
	"attach":         func(w *world) error { return call(unix.SYS_SHMAT, 1<<30, 0, 0) },
	"send a message": func(w *world) error { return call(unix.SYS_MSGSND, 1<<30, zeros(), 1, unix.IPC_NOWAIT) },
	"posix queue": func(w *world) error {
		name := text("pulse-" + strconv.Itoa(os.Getpid()))
		if err := call(unix.SYS_MQ_OPEN, name, unix.O_CREAT|unix.O_RDWR, 0o600, 0); err != nil {
			return err
		}
		return call(unix.SYS_MQ_UNLINK, name)
	},
	"read a posix queue": func(w *world) error { return call(unix.SYS_MQ_TIMEDRECEIVE, 1<<20, zeros(), 0, 0, 0) },

	// What the runtime asks about its own process.
	"own limits":   func(w *world) error { var l unix.Rlimit; return unix.Getrlimit(unix.RLIMIT_NOFILE, &l) },
	"own affinity": func(w *world) error { var set unix.CPUSet; return unix.SchedGetaffinity(0, &set) },
}

func init() { maps.Copy(attempts, others) }

func (w *world) file() string { return filepath.Join(w.Other, "file") }

// cwd stands for AT_FDCWD.
const cwd = ^uintptr(99)

// text returns the address of a string as the kernel reads it.
func text(s string) uintptr {
	p, _ := unix.BytePtrFromString(s)
	kept = append(kept, p)
	return uintptr(unsafe.Pointer(p))
}

// kept keeps alive what calls were given by address.
var kept []*byte

// zeros returns the address of zeros.
func zeros() uintptr {
	b := make([]byte, 64)
	kept = append(kept, &b[0])
	return uintptr(unsafe.Pointer(&b[0]))
}

// acl is u::rw-,g::---,o::--- in the form of the attribute, version 2.
var acl = []byte{2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 4, 0, 0, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255}

func setxattrat(w *world) error {
	args := make([]byte, 16) // struct xattr_args: a value and its size
	binary.NativeEndian.PutUint64(args, uint64(text("x")))
	binary.NativeEndian.PutUint32(args[8:], 1)
	kept = append(kept, &args[0])
	return call(unix.SYS_SETXATTRAT, cwd, text(w.file()), 0, text("user.pulse"), uintptr(unsafe.Pointer(&args[0])), 16)
}

// looked gives fn a descriptor that only stands for a file (O_PATH). Landlock does not
// refuse one.
func looked(name string, fn func(fd int) error) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return fn(fd)
}

// read gives fn a file that is open for reading: a kept one, or standard input.
func read(w *world, fn func(fd int) error) error {
	f, err := os.Open(filepath.Join(w.Kept, "file"))
	if err != nil {
		return fn(0)
	}
	defer f.Close()
	return fn(int(f.Fd()))
}

// made gives fn a file that it made.
func made(w *world, fn func(fd int) error) error {
	f, err := os.OpenFile(filepath.Join(w.Kept, "new"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return fn(int(f.Fd()))
}

func affinity(pid int) error {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		return errors.ErrUnsupported
	}
	return unix.SchedSetaffinity(pid, &set)
}

// ipc makes a private System V object, and removes it.
func ipc(get, control, flags uintptr) error {
	third := uintptr(0)
	if get == unix.SYS_SEMGET {
		third = unix.IPC_CREAT | 0o600
	}
	id, _, errno := unix.RawSyscall(get, unix.IPC_PRIVATE, flags, third)
	if errno != 0 {
		return errno
	}
	if get == unix.SYS_SEMGET {
		return call(control, id, 0, unix.IPC_RMID)
	}
	return call(control, id, unix.IPC_RMID, 0)
}
