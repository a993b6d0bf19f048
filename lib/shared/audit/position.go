package audit

import (
	"time"

	"pulse/lib/shared/record"
)

// Position says how far a source was read.
type Position struct {
	Source           string
	UIDValidity, UID uint32
	Received         time.Time
}

// Timed is set in the UIDValidity of a position in time, whose UID is a second. Its other bits
// are a sum, and differ from one message to the next (lib/fetch/pull).
const Timed = 1 << 31

// Precedes reports whether a message at p was fetched before one at o of the same source.
// Positions of different UIDVALIDITY can't be compared, unless both are of a time. One that is
// not of a time ends a run of those that are.
func (p *Position) Precedes(o *Position) bool {
	if p.UIDValidity&Timed != o.UIDValidity&Timed {
		return p.UIDValidity&Timed != 0
	}
	return p.UID < o.UID && (p.UIDValidity == o.UIDValidity || p.UIDValidity&Timed != 0)
}

// Append appends the position as an object.
func (p *Position) Append(dst []byte) []byte {
	var o record.Object
	o.Str("source", p.Source)
	o.Int("uidvalidity", int64(p.UIDValidity))
	o.Int("uid", int64(p.UID))
	o.Time("received", p.Received)
	return append(dst, o.Bytes()...)
}

// DecodePosition reads what Append wrote.
func DecodePosition(v record.Value) (p Position, err error) {
	err = v.Each(record.To(
		"source", &p.Source, "uidvalidity", &p.UIDValidity, "uid", &p.UID, "received", &p.Received,
	))
	return p, err
}

func appendPositions(dst []byte, all []Position) []byte {
	return record.List(dst, all, (*Position).Append)
}
