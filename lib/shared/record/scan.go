package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// The classes of a bad record. A stage stops at the first one.
var (
	errSyntax    = errors.New("not valid JSON")
	errUTF8      = errors.New("not valid UTF-8")
	errDuplicate = errors.New("duplicate member name")
	errNotObject = errors.New("not a JSON object")
	ErrType      = errors.New("wrong type")
	ErrMissing   = errors.New("missing member")
	errTooLong   = errors.New("longer than the limit")
	errTooDeep   = errors.New("nested too deeply")
)

// maxDepth bounds the nesting of a record, its own braces included.
const maxDepth = 256

// manyNames is the number of names from which on duplicates are looked for in a map and
// no longer in a list, so that a huge object costs linear time.
const manyNames = 24

// scanner validates one JSON text in a single pass (RFC 8259). As I-JSON demands, the
// text must be UTF-8 without unpaired surrogates.
type scanner struct {
	b     []byte
	reads []string // members inside which names must be unique
	depth int
	names [][]byte // names of the objects that are being scanned, innermost last
	top   []member // members of the outermost object
}

// member tells where one member of the outermost object stands.
type member struct {
	name              []byte // unescaped
	start, value, end int    // opening quote of the name; start and end of the value
}

func (s *scanner) syntax(i int, want string) error {
	if i >= len(s.b) {
		return fmt.Errorf("%w: ends early, want %s", errSyntax, want)
	}
	return fmt.Errorf("%w: column %d: want %s", errSyntax, i+1, want)
}

func (s *scanner) space(i int) int {
	for i < len(s.b) && (s.b[i] == ' ' || s.b[i] == '\t' || s.b[i] == '\r' || s.b[i] == '\n') {
		i++
	}
	return i
}

// value scans the value that begins at i and returns where it ends. If unique is set, a
// duplicate name anywhere inside is an error.
func (s *scanner) value(i int, unique bool) (int, error) {
	if i >= len(s.b) {
		return i, s.syntax(i, "a value")
	}
	switch c := s.b[i]; c {
	case '"':
		return s.str(i)
	case '{':
		return s.object(i, unique)
	case '[':
		return s.array(i, unique)
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return s.number(i)
		}
		return i, s.syntax(i, "a value")
	}
}

func (s *scanner) word(i int, word string) (int, error) {
	if len(s.b)-i < len(word) || string(s.b[i:i+len(word)]) != word {
		return i, s.syntax(i, word)
	}
	return i + len(word), nil
}

func (s *scanner) digits(i int) (int, error) {
	start := i
	for i < len(s.b) && '0' <= s.b[i] && s.b[i] <= '9' {
		i++
	}
	if i == start {
		return i, s.syntax(i, "a digit")
	}
	return i, nil
}

func (s *scanner) number(i int) (end int, err error) {
	if s.b[i] == '-' {
		i++
	}
	if i < len(s.b) && s.b[i] == '0' {
		i++
	} else if i, err = s.digits(i); err != nil {
		return i, err
	}
	if i < len(s.b) && s.b[i] == '.' {
		if i, err = s.digits(i + 1); err != nil {
			return i, err
		}
	}
	if i < len(s.b) && (s.b[i] == 'e' || s.b[i] == 'E') {
		i++
		if i < len(s.b) && (s.b[i] == '+' || s.b[i] == '-') {
			i++
		}
		return s.digits(i)
	}
	return i, nil
}

// plain returns the first index at or after i whose byte needs a closer look: a quote,
// a backslash, a control or a byte of a longer UTF-8 sequence. It reads eight bytes at
// a time, and may stop at a byte that turns out to be plain.
func plain(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for i >= 0 && i <= len(b)-8 { // so written, the compiler needs no check of its own
		w := binary.LittleEndian.Uint64(b[i : i+8])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		special := (w - ones*0x20) | w | (quote - ones) | (slash - ones)
		if special &= highs; special != 0 {
			// A borrow can raise a false alarm only above a true one, and only
			// the lowest alarm counts.
			return i + bits.TrailingZeros64(special)/8
		}
		i += 8
	}
	for i < len(b) && b[i] >= 0x20 && b[i] < 0x80 && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// str scans the string whose opening quote is at i.
func (s *scanner) str(i int) (int, error) {
	i++
	for {
		i = plain(s.b, i)
		if i >= len(s.b) {
			return i, s.syntax(i, "a closing quote")
		}
		switch c := s.b[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			n, err := s.escape(i)
			if err != nil {
				return i, err
			}
			i += n
		case c < 0x20:
			return i, s.syntax(i, "an escaped control character")
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(s.b[i:])
			if r == utf8.RuneError && n == 1 {
				return i, fmt.Errorf("%w: column %d", errUTF8, i+1)
			}
			i += n
		default:
			i++ // a false alarm of plain
		}
	}
}

// escape returns the length of the escape sequence at i.
func (s *scanner) escape(i int) (int, error) {
	if i+1 >= len(s.b) {
		return 0, s.syntax(i+1, "an escape")
	}
	switch s.b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		return 0, s.syntax(i+1, "an escape")
	}
	hi, ok := hex4(s.b, i+2)
	if !ok {
		return 0, s.syntax(i+2, "four hex digits")
	}
	if hi < 0xD800 || hi > 0xDFFF {
		return 6, nil
	}
	if hi <= 0xDBFF && i+7 < len(s.b) && s.b[i+6] == '\\' && s.b[i+7] == 'u' {
		if lo, ok := hex4(s.b, i+8); ok && lo >= 0xDC00 && lo <= 0xDFFF {
			return 12, nil
		}
	}
	return 0, fmt.Errorf("%w: column %d: unpaired surrogate", errUTF8, i+1)
}

func hex4[T []byte | string](b T, i int) (r rune, ok bool) {
	if i+4 > len(b) {
		return 0, false
	}
	for _, c := range []byte(b[i : i+4]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func (s *scanner) array(i int, unique bool) (_ int, err error) {
	if s.depth++; s.depth > maxDepth {
		return i, errTooDeep
	}
	if i = s.space(i + 1); i < len(s.b) && s.b[i] == ']' {
		s.depth--
		return i + 1, nil
	}
	for {
		if i, err = s.value(i, unique); err != nil {
			return i, err
		}
		if i = s.space(i); i >= len(s.b) || s.b[i] != ',' && s.b[i] != ']' {
			return i, s.syntax(i, "a comma or ]")
		}
		if s.b[i] == ']' {
			s.depth-- // an error ends the scan, so then it does not matter
			return i + 1, nil
		}
		i = s.space(i + 1)
	}
}

// object scans the object that begins at i. For the outermost object it keeps the
// members in s.top, and demands unique names inside those that the stage reads.
func (s *scanner) object(i int, unique bool) (_ int, err error) {
	if s.depth++; s.depth > maxDepth {
		return i, errTooDeep
	}
	outermost := s.depth == 1
	names := nameSet{first: len(s.names)}
	if i = s.space(i + 1); i < len(s.b) && s.b[i] == '}' {
		s.depth--
		return i + 1, nil
	}
	for {
		m := member{start: i}
		if i, err = s.name(i, &m); err != nil {
			return i, err
		}
		if (unique || outermost) && !s.add(&names, m.name) {
			return i, fmt.Errorf("%w: column %d", errDuplicate, m.start+1)
		}
		m.value = i
		if i, err = s.value(i, unique || outermost && slices.Contains(s.reads, string(m.name))); err != nil {
			return i, err
		}
		if m.end = i; outermost {
			s.top = append(s.top, m)
		}
		if i = s.space(i); i >= len(s.b) || s.b[i] != ',' && s.b[i] != '}' {
			return i, s.syntax(i, "a comma or }")
		}
		if s.b[i] == '}' {
			s.depth, s.names = s.depth-1, s.names[:names.first]
			return i + 1, nil
		}
		i = s.space(i + 1)
	}
}

// name scans a member's name and colon, and returns where the value begins.
func (s *scanner) name(i int, m *member) (int, error) {
	if i >= len(s.b) || s.b[i] != '"' {
		return i, s.syntax(i, "a member name")
	}
	end, err := s.str(i)
	if err != nil {
		return i, err
	}
	m.name = s.b[i+1 : end-1]
	if bytes.IndexByte(m.name, '\\') >= 0 {
		m.name = []byte(unquote(string(m.name))) // escaped spellings count as equal
	}
	if i = s.space(end); i >= len(s.b) || s.b[i] != ':' {
		return i, s.syntax(i, "a colon")
	}
	return s.space(i + 1), nil
}

// nameSet is the set of names of one object: a run at the end of s.names, and also a
// map once the run is long.
type nameSet struct {
	first int
	many  map[string]bool
}

// add reports whether name was new.
func (s *scanner) add(set *nameSet, name []byte) bool {
	if set.many != nil {
		n := len(set.many)
		set.many[string(name)] = true
		return len(set.many) > n
	}
	run := s.names[set.first:]
	for _, other := range run {
		if bytes.Equal(other, name) {
			return false
		}
	}
	s.names = append(s.names, name)
	if len(run) >= manyNames {
		set.many = make(map[string]bool)
		for _, n := range s.names[set.first:] {
			set.many[string(n)] = true
		}
	}
	return true
}
