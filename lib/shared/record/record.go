// Package record reads and writes pulse's records: JSON Lines, one object a line
// (pulse-record(5)). It knows the shape of a line and not what it means.
//
// Invariant: a stage replaces the one member that it owns and hands every other byte
// of the object on as it came, unknown members included. A line that could be read in
// two ways (a duplicate name, invalid UTF-8, two types) is bad, and nothing is read
// after it. Memory is bounded by the longest line, never by the input. Caveat: names
// may repeat inside a member that the stage does not read; the stage that reads that
// member will refuse it.
package record

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Record is one line. It is valid until the next call of Reader.Next.
type Record struct {
	raw     []byte // from { to }
	members []member
	inner   []place
	pairs   []place
	at      int    // where the value stands that Each passes on, or the end
	name    string // name of the input, for messages
	line    int
}

// Parse scans one line: the object and any blanks around it. reads names the members
// inside which duplicate names are errors too. The record refers to b.
func Parse(b []byte, reads ...string) (*Record, error) {
	s := scanner{reads: reads, names: make([][]byte, 0, usual)}
	rec := &Record{members: make([]member, 0, usualTop)}
	return rec, s.line(b, rec)
}

// ParseValue scans one value of any kind and the blanks around it. No object in it may have
// two members of one name.
func ParseValue(b []byte) (Value, error) {
	s := scanner{b: b}
	begin := s.space(0)
	end, err := s.value(begin, true)
	if err != nil {
		return "", err
	}
	if i := s.space(end); i < len(b) {
		return "", s.syntax(i, "the end of the value")
	}
	return Value(b[begin:end]), nil
}

// usual is how many names are known at a time while a line is scanned, as a rule, usualTop how many
// members it has, and usualInner how many those have that are read: for these nothing has to grow.
const (
	usual      = 24
	usualTop   = 8
	usualInner = 32
)

// line scans b into rec.
func (s *scanner) line(b []byte, rec *Record) error {
	s.b, s.depth, s.names, s.top, s.inner, s.pairs = b, 0, s.names[:0], rec.members[:0], rec.inner[:0], rec.pairs[:0]
	begin := s.space(0)
	if begin >= len(b) || b[begin] != '{' {
		return errNotObject
	}
	end, err := s.object(begin, false)
	if err != nil {
		return err
	}
	if i := s.space(end); i < len(b) {
		return s.syntax(i, "the end of the line")
	}
	s.shift(begin)
	rec.raw, rec.members, rec.inner, rec.pairs = b[begin:end], s.top, s.inner, s.pairs
	return nil
}

// shift makes what was noted count from begin.
func (s *scanner) shift(begin int) {
	if begin == 0 {
		return
	}
	for i := range s.top {
		s.top[i].start -= begin
		s.top[i].value -= begin
		s.top[i].end -= begin
	}
	for _, list := range [...][]place{s.inner, s.pairs} {
		for i := range list {
			list[i].start -= begin
			list[i].named -= begin
			list[i].value -= begin
			list[i].end -= begin
		}
	}
}

func (r *Record) find(name string) int {
	for i := range r.members {
		if string(r.members[i].name) == name {
			return i
		}
	}
	return -1
}

// Has reports whether the record has the member.
func (r *Record) Has(name string) bool { return r.find(name) >= 0 }

// Only reports whether the record has the member and no other.
func (r *Record) Only(name string) bool { return len(r.members) == 1 && r.Has(name) }

// Get returns a copy of the member's value, which stays valid. The member must be one
// that was named in reads, or duplicate names inside it have gone unnoticed.
func (r *Record) Get(name string) (Value, error) {
	i := r.find(name)
	if i < 0 {
		return "", r.Bad(fmt.Errorf("%w %s", ErrMissing, name))
	}
	return Value(r.raw[r.members[i].value:r.members[i].end]), nil
}

// Value returns a copy of the whole record. As with Get, duplicate names go unnoticed
// inside members that were not named in reads.
func (r *Record) Value() Value { return Value(r.raw) }

// Decode calls fn with the member's value. An error of fn is returned as an error of
// this record, with the path to the member.
func (r *Record) Decode(name string, fn func(Value) error) error {
	v, err := r.Get(name)
	if err != nil {
		return err
	}
	if err := fn(v); err != nil {
		return r.Bad(inside(name, err))
	}
	return nil
}

// Each calls fn for every member of the object that is the member's value, in order. It
// leaves out long ones that are named in unread. It is Decode with Value.Each, without a
// second look at the bytes, because the scan has noted where they stand, and without a copy
// of what is left out.
func (r *Record) Each(name string, fn func(name string, v Value) error, unread ...string) error {
	i := r.find(name)
	r.at = len(r.raw) // what is passed on without notes has none
	if i < 0 || r.members[i].last == 0 || r.raw[r.members[i].value] != '{' {
		return r.Decode(name, func(v Value) error { return v.Each(fn) })
	}
	places := r.inner[r.members[i].first:r.members[i].last]
	left := func(p *place) bool {
		return p.end-p.start > long && slices.Contains(unread, string(r.raw[p.start+1:p.named-1]))
	}
	for len(places) > 0 {
		run := 0
		for run < len(places) && !left(&places[run]) {
			run++
		}
		if err := r.each(places[:run], fn); err != nil {
			return r.Bad(inside(name, err))
		}
		places = places[min(run+1, len(places)):]
	}
	return nil
}

// each calls fn for members that follow one another, and copies them all at once.
func (r *Record) each(places []place, fn func(name string, v Value) error) error {
	if len(places) == 0 {
		return nil
	}
	begin := places[0].start
	run := Value(r.raw[begin:places[len(places)-1].end])
	for i := range places {
		p := &places[i]
		member := string(run[p.start-begin+1 : p.named-begin-1])
		if p.escaped {
			member = unquote(member)
		}
		r.at = p.value
		if err := fn(member, run[p.value-begin:p.end-begin]); err != nil {
			return inside(member, err)
		}
	}
	return nil
}

// Pairs is v.Pairs for a value that Each has passed on just now, without a second look at the bytes
// where the scan has noted them.
func (r *Record) Pairs(v Value, fn func(a, b string)) error {
	noted := r.pairs
	for len(noted) > 0 && noted[0].start < r.at {
		noted = noted[1:]
	}
	if len(noted) == 0 || noted[0].start >= r.at+len(v) {
		return v.Pairs(fn)
	}
	var memory strings.Builder // of all strings with escapes
	for i := range noted {
		p := &noted[i]
		if p.end >= r.at+len(v) {
			break
		}
		a, b := string(v[p.start-r.at+1:p.named-r.at-1]), string(v[p.value-r.at+1:p.end-r.at-1])
		if p.escaped {
			memory.Grow(r.at + len(v) - p.start) // once: the rest of v has room for the rest
			a, b = unquoteIn(&memory, a), unquoteIn(&memory, b)
		}
		fn(a, b)
	}
	return nil
}

// long is the length in bytes from which on it pays not to copy a member.
const long = 256

// Where returns the input and the line that the record stands in.
func (r *Record) Where() string { return fmt.Sprintf("%s:%d", r.name, r.line) }

// Bad returns err as an error of this record, which names the input and the line.
func (r *Record) Bad(err error) error {
	if r.name == "" {
		return err
	}
	return &lineError{r.name, r.line, err, ""}
}

// AppendReplaced appends the line with the member's value replaced, without the
// newline. The member moves to the end; all other bytes stay as they came.
func (r *Record) AppendReplaced(dst []byte, name string, value []byte) []byte {
	dst, empty := r.appendOpen(dst, name)
	if !empty {
		dst = append(dst, ',')
	}
	dst = append(AppendString(dst, name), ':')
	return append(append(dst, value...), '}')
}

// AppendWithout appends the line without the member and without the newline.
func (r *Record) AppendWithout(dst []byte, name string) []byte {
	dst, _ = r.appendOpen(dst, name)
	return append(dst, '}')
}

// AppendMember appends object with one more member at its end. The object must be valid
// and have members, but none of that name. It is AppendReplaced for a line that was
// checked before.
func AppendMember(dst, object []byte, name string, value []byte) []byte {
	dst = append(append(dst, object[:len(object)-1]...), ',')
	dst = append(AppendString(dst, name), ':')
	return append(append(dst, value...), '}')
}

// appendOpen appends the object without the member and without its last brace,
// and reports whether no member is left.
func (r *Record) appendOpen(dst []byte, name string) (_ []byte, empty bool) {
	i, last := r.find(name), len(r.raw)-1
	switch {
	case i < 0:
		return append(dst, r.raw[:last]...), len(r.members) == 0
	case len(r.members) == 1:
		return append(dst, '{'), true
	case i == 0: // with the comma after it
		dst = append(dst, '{')
		return append(dst, r.raw[r.members[1].start:last]...), false
	default: // with the comma before it
		dst = append(dst, r.raw[:r.members[i-1].end]...)
		return append(dst, r.raw[r.members[i].end:last]...), false
	}
}

// lineError reports a bad record: which input, which line (from 1), and why.
type lineError struct {
	Name string
	Line int
	Err  error
	hint string
}

// inOneLine returns what to type if a bad line looks like the first of a record, or of an array of
// them, that was printed over several lines, as jq does without -c.
func inOneLine(line []byte) string {
	switch string(bytes.TrimSpace(line)) {
	case "{":
		return "jq -c . FILE, because each record is one line"
	case "[":
		return "jq -c '.[]' FILE, because each record is one line"
	}
	return ""
}

func (e *lineError) Hint() string  { return e.hint }
func (e *lineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Name, e.Line, e.Err) }
func (e *lineError) Unwrap() error { return e.Err }
