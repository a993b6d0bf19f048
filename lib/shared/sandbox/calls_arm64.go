package sandbox

import "golang.org/x/sys/unix"

const archHere = unix.AUDIT_ARCH_AARCH64

// nowhereHere and neverHere have the calls that other architectures do not have.
var nowhereHere, neverHere []uint32

var gaps = gapsARM64
