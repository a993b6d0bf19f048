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
	inner []place  // members of the objects that are the value of a member in reads
	pairs []place  // elements of the arrays among those, if all are two strings without blanks; nil: not asked for

	escapes int // how many escape sequences were scanned
}

// member tells where one member of the outermost object stands.
type member struct {
	name              []byte // unescaped
	start, value, end int    // opening quote of the name; start and end of the value
	first, last       int32  // its own members are inner[first:last]; last is 0 if they are not all there
}

// place tells where a member of such a member stands, or two strings.
type place struct {
	start, named int  // opening quote of the name, and where the name ends
	value, end   int  // start and end of the value
	escaped      bool // the name holds escapes, or one of the strings does
}

// maxNoted bounds how many places of a kind are kept of one line. A line with more is hostile, and is
// looked at twice.
const maxNoted = 100

func (s *scanner) syntax(i int, want string) error {
	if i >= len(s.b) {
		return fmt.Errorf("%w: ends early, want %s", errSyntax, want)
	}
	return fmt.Errorf("%w: column %d: want %s", errSyntax, i+1, want)
}

// space returns where the blanks that may stand at i end. Most records have none, so the
// compiler puts this test for them into every caller.
func (s *scanner) space(i int) int {
	if uint(i) < uint(len(s.b)) && s.b[i] <= ' ' {
		return s.blanks(i)
	}
	return i
}

func (s *scanner) blanks(i int) int {
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

// special returns a word that is zero if none of the eight bytes in w needs a closer look:
// a quote, a backslash, a control or a byte of a longer UTF-8 sequence. Else its lowest bit
// stands in the first byte that does.
func special(w uint64) uint64 {
	// A quote with bit 1 turned over is a space, and no other byte above the controls
	// becomes one. A borrow can raise a false alarm only above a true one.
	return (((w ^ eight[0]) - eight[1]) | ((w ^ eight[2]) - eight[3]) | w) & eight[4]
}

// eight holds bytes eight times over. As constants they would be loaded one by one for
// each word, which takes longer than what is done with them.
var eight = [...]uint64{ones * ('"' ^ ' '), ones * (' ' + 1), ones * '\\', ones, ones << 7}

const ones = 0x0101010101010101

// str scans the string whose opening quote is at i.
func (s *scanner) str(i int) (int, error) {
	b := s.b
	for i++; ; {
		for i >= 0 && i <= len(b)-8 { // so written, the compiler needs no check of its own
			at := special(binary.LittleEndian.Uint64(b[i : i+8]))
			if at == 0 {
				i += 8
				continue
			}
			if i += bits.TrailingZeros64(at) / 8; b[i] == '"' {
				return i + 1, nil
			}
			if b[i] != '\\' || i+1 >= len(b) || !short[b[i+1]] {
				break
			}
			i += 2
			s.escapes++
		}
		if i >= len(b) {
			return i, s.syntax(i, "a closing quote")
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			n, err := s.escape(i)
			if err != nil {
				return i, err
			}
			i += n
			s.escapes++
		case c < 0x20:
			return i, s.syntax(i, "an escaped control character")
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				return i, fmt.Errorf("%w: column %d", errUTF8, i+1)
			}
			i += n
		default:
			i++ // one of the last seven bytes of the line
		}
	}
}

// short has the bytes that make an escape of two with the backslash before them.
var short = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// escape returns the length of the escape sequence at i.
func (s *scanner) escape(i int) (int, error) {
	if i+1 >= len(s.b) {
		return 0, s.syntax(i+1, "an escape")
	}
	switch c := s.b[i+1]; {
	case short[c]:
		return 2, nil
	case c != 'u':
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
	noted, first := s.depth == 3 && unique && s.pairs != nil, len(s.pairs)
	for {
		end := 0
		if noted {
			end = s.pair(i)
		}
		if end > 0 {
			i = end
		} else {
			s.pairs, noted = s.pairs[:first], false
			if i, err = s.value(i, unique); err != nil {
				return i, err
			}
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

// pair scans two strings in an array, and notes where they stand. It returns where the array ends, or
// 0 if something else begins at i.
func (s *scanner) pair(i int) int {
	p, escapes := place{start: i + 1}, s.escapes
	if !s.has(i, '[', '"') || len(s.pairs) == maxNoted {
		return 0
	}
	var err error
	if p.named, err = s.str(p.start); err != nil || !s.has(p.named, ',', '"') {
		return 0
	}
	p.value = p.named + 1
	if p.end, err = s.str(p.value); err != nil || p.end >= len(s.b) || s.b[p.end] != ']' {
		return 0
	}
	p.escaped = s.escapes > escapes
	s.pairs = append(s.pairs, p)
	return p.end + 1
}

// has reports whether two bytes stand at i.
func (s *scanner) has(i int, a, b byte) bool { return i+1 < len(s.b) && s.b[i] == a && s.b[i+1] == b }

// object scans the object that begins at i. For the outermost object it keeps the
// members in s.top, and demands unique names inside those that the stage reads.
func (s *scanner) object(i int, unique bool) (_ int, err error) {
	if s.depth++; s.depth > maxDepth {
		return i, errTooDeep
	}
	outermost, noted := s.depth == 1, s.depth == 2 && unique
	names := nameSet{first: len(s.names)}
	if i = s.space(i + 1); i < len(s.b) && s.b[i] == '}' {
		s.depth--
		return i + 1, nil
	}
	for {
		p, first := place{start: i}, len(s.inner)
		name, err := s.name(&p)
		if err != nil {
			return i, err
		}
		if (unique || outermost) && !s.add(&names, name) {
			return i, fmt.Errorf("%w: column %d", errDuplicate, p.start+1)
		}
		read := outermost && slices.Contains(s.reads, string(name))
		if i, err = s.value(p.value, unique || read); err != nil {
			return i, err
		}
		p.end = i
		switch {
		case outermost:
			m := member{name: name, start: p.start, value: p.value, end: p.end}
			if read && len(s.inner) < maxNoted {
				m.first, m.last = int32(first), int32(len(s.inner))
			}
			s.top = append(s.top, m)
		case noted && len(s.inner) < maxNoted:
			if s.inner == nil {
				s.inner = make([]place, 0, usualInner)
			}
			s.inner = append(s.inner, p)
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

// name scans the name and colon at p.start, and sets where the name ends and the value
// begins.
func (s *scanner) name(p *place) (name []byte, err error) {
	i := p.start
	if i >= len(s.b) || s.b[i] != '"' {
		return nil, s.syntax(i, "a member name")
	}
	escapes := s.escapes
	if p.named, err = s.str(i); err != nil {
		return nil, err
	}
	name = s.b[i+1 : p.named-1]
	if p.escaped = s.escapes > escapes; p.escaped {
		name = []byte(unquote(string(name))) // escaped spellings count as equal
	}
	if i = s.space(p.named); i >= len(s.b) || s.b[i] != ':' {
		return nil, s.syntax(i, "a colon")
	}
	p.value = s.space(i + 1)
	return name, nil
}

// nameSet is the set of names of one object: a run at the end of s.names, and also a
// map once the run is long.
type nameSet struct {
	first int
	some  uint64 // bitOf every name
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
	if bit := bitOf(name); set.some&bit == 0 {
		set.some |= bit
	} else if slices.ContainsFunc(run, func(other []byte) bool { return bytes.Equal(other, name) }) {
		return false
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

// bitOf returns one of 64 bits, the same for equal names, so that most names that are new
// need not be compared with those before them.
func bitOf(name []byte) uint64 {
	if len(name) == 0 {
		return 1
	}
	return 1 << ((uint(len(name)) + uint(name[0])*2 + uint(name[len(name)-1])*8) % 64)
}
