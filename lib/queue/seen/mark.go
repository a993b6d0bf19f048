package seen

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"pulse/lib/shared/record"
)

// sector is the number of bytes that a mark fills. It is written in place, so a power
// cut leaves either the old mark or the new one.
const sector = 512

// Table is the Segment of a mark that was noted of a queue in a database.
const Table = "audit"

// Mark identifies a line of a queue's log. A queue that moved between a directory and a
// database has the same lines, so a mark of the one is a mark of the other: Head counts, and
// the place is where it is looked for first.
type Mark struct {
	First   string // hash of the log's first line, which identifies the queue
	Segment string // name of the log's file, or Table
	Size    int64  // of that file, up to the end of the line; in a database the line's number
	Head    string // hash of the line
}

// Place says where the line ends, in words.
func (m *Mark) Place() string {
	if m.Segment == Table {
		return fmt.Sprintf("number %d", m.Size)
	}
	return fmt.Sprintf("at the end of byte %d of audit/%s", m.Size, m.Segment)
}

// after reports whether the line of m follows that of o in the log. Both are of one kind.
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
	err = rec.Value().Each(record.To(
		"first", &m.First, "segment", &m.Segment, "size", &m.Size, "head", &m.Head,
	))
	if err == nil && (m.First == "" || m.Segment == "" || m.Size <= 0 || m.Head == "") {
		err = errors.New("it lacks a member")
	}
	return &m, err
}
