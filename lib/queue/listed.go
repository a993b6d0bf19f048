package queue

import (
	"encoding/hex"

	"pulse/lib/shared/task"
)

// ID is the id of a task in 16 bytes, for very long lists.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IDOf returns the id that text spells, or zeros if it spells none.
func IDOf(text string) (id ID) {
	hex.Decode(id[:], []byte(text))
	return id
}

// Listed are the tasks of a state.
type Listed struct {
	State task.State
	IDs   []ID // oldest first
}
