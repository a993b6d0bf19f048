package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

const archHere = unix.AUDIT_ARCH_X86_64

// nowhereHere has the calls of nowhere that other architectures do not have.
var nowhereHere = []uint32{unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_IOPERM, unix.SYS_IOPL}

// neverHere has the calls of never that other architectures do not have.
var neverHere = slices.Concat(nowhereHere, []uint32{
	unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_INOTIFY_INIT,
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
})

var gaps = gapsAMD64
