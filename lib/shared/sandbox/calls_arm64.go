package sandbox

import "golang.org/x/sys/unix"

const archHere = unix.AUDIT_ARCH_AARCH64

// neverHere has the calls of never that other architectures do not have.
var neverHere []uint32

var gaps = gapsARM64
