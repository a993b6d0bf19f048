package compare

import (
	"fmt"

	"pulse/lib/authorize/decision"
	"pulse/lib/shared/record"
)

// Direction says which of two policies lets more happen.
type Direction string

// The directions, in the order in which differences are listed.
const (
	Wider    Direction = "wider"    // NEW lets something go further
	Narrower Direction = "narrower" // OLD does
	Other    Direction = "other"    // neither, or it can't be compared
)

// Way returns in which direction an aspect of what follows differs from what it was; Other if
// it reaches as far.
func Way(was, is decision.Aspect) Direction {
	switch {
	case is.Reach > was.Reach:
		return Wider
	case is.Reach < was.Reach:
		return Narrower
	}
	return Other
}

// Difference is one way in which two policies differ.
type Difference struct {
	Direction Direction
	Key       string // the key of the policy that makes the difference
	File      string // the policy that has the key: NEW, or else OLD
	Line      int    // where it stands there; 0: it is nowhere
	What      string
	Old, New  decision.Aspect // of the witness; empty if there is none
	Witness   []byte          // the smallest record that shows it, or nil
	Unknown   bool            // nothing is known: it could not be compared
}

// Wider reports whether NEW may let more happen. What could not be compared counts.
func (d *Difference) Wider() bool { return d.Direction == Wider || d.Unknown }

// String returns the difference as one line, which has to be escaped before it is shown.
func (d *Difference) String() string {
	s := fmt.Sprintf("%s %s: %s", d.Direction, d.Key, d.What)
	if d.Old.Name != "" {
		s += ": " + (&Change{Old: d.Old, New: d.New}).String()
	}
	if d.Line > 0 {
		s += fmt.Sprintf(" (%s:%d)", d.File, d.Line)
	}
	return s
}

// Append appends the difference as an object.
func (d *Difference) Append(dst []byte) []byte {
	o := record.ObjectAfter(dst)
	o.Str("direction", string(d.Direction))
	o.Str("key", d.Key)
	if d.Line > 0 {
		o.Str("file", d.File)
		o.Int("line", int64(d.Line))
	}
	o.Str("what", d.What)
	o.StrIf("of", d.Old.Name)
	o.StrIf("old", d.Old.Value)
	o.StrIf("new", d.New.Value)
	if d.Witness != nil {
		o.Raw("witness", d.Witness)
	}
	return o.Bytes()
}
