package pgstore

import (
	"bytes"
	"slices"

	"pulse/lib/shared/audit"
)

// proposals returns the lines of an outbox that have no receipt yet: those of all that a line
// of the log names and that are in rest. It returns nil if one of them is not there, or if all
// has a line that is not named.
func proposals(all []byte, named []audit.Proposed, rest []string) (left []byte) {
	found := 0
	for line := range bytes.Lines(all) {
		digest := audit.Hash(bytes.TrimSuffix(line, []byte("\n")))
		i := slices.IndexFunc(named, func(p audit.Proposed) bool { return p.Digest == digest })
		if i < 0 {
			return nil
		}
		if slices.Contains(rest, named[i].ID) {
			left = append(left, line...)
			found++
		}
	}
	if found != len(rest) {
		return nil
	}
	return left
}
