package identity

import (
	"fmt"
	"math/bits"

	"pulse/lib/shared/record"
)

// Fields is a set of the header fields that may appear once in a message.
type Fields uint16

// add puts a field into the set.
func (f *Fields) add(s slot) { *f |= 1 << s }

func (f Fields) has(s slot) bool { return f&(1<<s) != 0 }

// mimeFields say how the body reads (RFC 2045, RFC 2183), and the others do not.
const (
	mimeFields  Fields = 1<<slotContentType | 1<<slotTransferEncoding | 1<<slotDisposition
	otherFields        = ^mimeFields
)

// fewer reports whether the set is smaller than another. Fields about the body count only
// between sets that are equal otherwise.
func (f Fields) fewer(than Fields) bool {
	if n := f.count(otherFields) - than.count(otherFields); n != 0 {
		return n < 0
	}
	return f.count(mimeFields) < than.count(mimeFields)
}

func (f Fields) count(of Fields) int { return bits.OnesCount16(uint16(f & of)) }

// Names returns the fields by their names, in the order of pulse-record(5).
func (f Fields) Names() []string {
	var names []string
	for s := range slots {
		if f.has(s) {
			names = append(names, s.String())
		}
	}
	return names
}

// decode reads an array of names. A name that is not in the list is an error, because
// a stage that does not know the word must not guess.
func (f *Fields) decode(v record.Value) error {
	return v.Elements(func(_ int, v record.Value) error {
		name, err := v.String()
		if err != nil {
			return err
		}
		for s := slotTo; s < slots; s++ {
			if s.String() == name {
				f.add(s)
				return nil
			}
		}
		return fmt.Errorf("unsigned: %s is not one of the fields that can be unsigned", name)
	})
}
