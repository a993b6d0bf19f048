//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"
)

// Box returns the filter of a box as bwrap reads it (--seccomp): what no stage and no program of
// an agent has a use for, and more ways into the kernel than either needs. It is empty where
// there are no filters.
func Box() (program []byte) {
	for _, in := range box() {
		program = binary.NativeEndian.AppendUint16(program, in.Code)
		program = append(program, in.Jt, in.Jf)
		program = binary.NativeEndian.AppendUint32(program, in.K)
	}
	return program
}

func box() []unix.SockFilter {
	return program((*filter).boxed, slices.Sorted(slices.Values(slices.Concat(nowhere, nowhereHere))))
}
