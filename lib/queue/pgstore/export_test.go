package pgstore

import "pulse/lib/queue"

// What the tests of this package see besides.
var (
	Parse   = parse
	ErrUndo = errUndone
)

// Hold is hold.
func (s *Store) Hold(id string, fence int64) { s.hold(id, fence) }

var _ queue.View = (*view)(nil)
