package seen

import (
	"bytes"
	"cmp"
	"errors"

	"pulse/lib/shared/record"
)

// sector is the number of bytes that a mark fills. It is written in place, so a power
// cut leaves either the old mark or the new one.
const sector = 512

// Mark identifies a line of a queue's log.
type Mark struct {
	First   string // hash of the log's first line, which identifies the queue
	Segment string // name of the log's file
	Size    int64  // of that file, up to the end of the line
	Head    string // hash of the line
}

// after reports whether the line of m follows that of o in the log.
func (m *Mark) after(o *Mark) bool {
	return cmp.Or(cmp.Compare(m.Segment, o.Segment), cmp.Compare(m.Size, o.Size)) > 0
}

// encode returns the mark as it is written: one sector.
func (m *Mark) encode() []byte {
	var o record.Object
	o.Str("first", m.First)
	o.Str("segment", m.Segment)
	o.Int("size", m.Size)
	o.Str("head", m.Head)
	b := o.Bytes()
	b = append(b, bytes.Repeat([]byte(" "), max(0, sector-1-len(b)))...)
	return append(b, '\n')
}

// decode parses what encode returns.
func decode(b []byte) (*Mark, error) {
	var m Mark
	rec, err := record.Parse(b)
	if err != nil {
		return nil, err
	}
	err = rec.Value().Each(func(name string, v record.Value) error {
		switch name {
		case "first":
			return v.Into(&m.First)
		case "segment":
			return v.Into(&m.Segment)
		case "size":
			return v.Into(&m.Size)
		case "head":
			return v.Into(&m.Head)
		}
		return nil
	})
	if err == nil && (m.First == "" || m.Segment == "" || m.Size <= 0 || m.Head == "") {
		err = errors.New("it lacks a member")
	}
	return &m, err
}
