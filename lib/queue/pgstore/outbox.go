package pgstore

import (
	"bytes"
	"slices"

	"pulse/lib/shared/audit"
)

// proposals returns the lines of an outbox that have no receipt yet. all is what was staged
// with the line of the log that names them. It returns nil if that is not what was staged.
func proposals(all []byte, named []audit.Proposed, rest []string) (left []byte) {
	lines := bytes.SplitAfter(all, []byte("\n"))
	if len(lines) != len(named)+1 || len(lines[len(named)]) != 0 {
		return nil
	}
	for i := range named {
		if audit.Hash(bytes.TrimSuffix(lines[i], []byte("\n"))) != named[i].Digest {
			return nil
		}
		if slices.Contains(rest, named[i].ID) {
			left = append(left, lines[i]...)
		}
	}
	return left
}
