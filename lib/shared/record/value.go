package record

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Value is the JSON text of a value that was scanned and found valid. Its methods
// decode without validating again.
type Value string

// typed returns an error about the type of a value. inside adds the path to it.
func (v Value) typed(want string) error { return fmt.Errorf("%w, want %s", ErrType, want) }

// pathError is an error at a path inside a record ("message.headers[3]").
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return e.path + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

// inside puts name in front of the path of err.
func inside(name string, err error) error {
	if p, ok := err.(*pathError); ok {
		sep := "."
		if strings.HasPrefix(p.path, "[") { // a member may have no name at all
			sep = ""
		}
		return &pathError{name + sep + p.path, p.err}
	}
	return &pathError{name, err}
}

// Each calls fn for every member of an object, in order. An error of fn ends the walk
// and is returned with the member's name.
func (v Value) Each(fn func(name string, v Value) error) error {
	if v[0] != '{' {
		return v.typed("an object")
	}
	for i := skipSpace(v, 1); v[i] != '}'; {
		name, end := v.text(i)
		i = skipSpace(v, skipSpace(v, end)+1)
		end = skip(v, i)
		if err := fn(name, v[i:end]); err != nil {
			return inside(name, err)
		}
		i = skipComma(v, end)
	}
	return nil
}

// Member returns a member of an object; empty if there is none, or v is not an object.
func (v Value) Member(name string) (found Value) {
	if v != "" && v[0] == '{' {
		_ = v.Each(To(name, &found))
	}
	return found
}

// Elements calls fn for every element of an array, in order.
func (v Value) Elements(fn func(i int, v Value) error) error {
	if v[0] != '[' {
		return v.typed("an array")
	}
	n := 0
	for i := skipSpace(v, 1); v[i] != ']'; n++ {
		end := skip(v, i)
		if err := fn(n, v[i:end]); err != nil {
			return inside("["+strconv.Itoa(n)+"]", err)
		}
		i = skipComma(v, end)
	}
	return nil
}

// Pairs calls fn for every element of an array whose elements are arrays of two strings.
// It walks the list once, because a mail's header makes a long one.
func (v Value) Pairs(fn func(a, b string)) error {
	if v[0] != '[' {
		return v.typed("an array")
	}
	n := 0
	for i := skipSpace(v, 1); v[i] != ']'; n++ {
		a, next, ok := v.pairString(i, '[')
		if !ok {
			return inside("["+strconv.Itoa(n)+"]", v.typed("an array of two strings"))
		}
		b, next, ok := v.pairString(next, ',')
		if next = skipSpace(v, next); !ok || v[next] != ']' {
			return inside("["+strconv.Itoa(n)+"]", v.typed("an array of two strings"))
		}
		fn(a, b)
		i = skipComma(v, next+1)
	}
	return nil
}

// pairString returns the string that follows the byte before, and where it ends.
func (v Value) pairString(i int, before byte) (s string, end int, ok bool) {
	if i = skipSpace(v, i); v[i] != before {
		return "", i, false
	}
	if i = skipSpace(v, i+1); v[i] != '"' {
		return "", i, false
	}
	s, end = v.text(i)
	return s, end, true
}

// text returns the string whose opening quote is at i, and where it ends.
func (v Value) text(i int) (s string, end int) {
	if end = plainEnd(v, i); end > 0 {
		return string(v[i+1 : end-1]), end
	}
	end = skipString(v, i)
	return unquote(string(v[i+1 : end-1])), end
}

// plainEnd returns where the string whose opening quote is at i ends, or 0 if that needs a
// closer look. In most strings the first byte that special finds is the closing quote.
func plainEnd(v Value, i int) int {
	for i++; i <= len(v)-8; i += 8 {
		if at := special(word(v[i : i+8])); at != 0 {
			if i += bits.TrailingZeros64(at) / 8; v[i] == '"' {
				return i + 1
			}
			break
		}
	}
	return 0
}

// word is binary.LittleEndian.Uint64 for a string.
func word[T string | Value](v T) uint64 {
	_ = v[7]
	return uint64(v[0]) | uint64(v[1])<<8 | uint64(v[2])<<16 | uint64(v[3])<<24 |
		uint64(v[4])<<32 | uint64(v[5])<<40 | uint64(v[6])<<48 | uint64(v[7])<<56
}

// String returns the text of a string.
func (v Value) String() (string, error) {
	if v[0] != '"' {
		return "", v.typed("a string")
	}
	return unquote(string(v[1 : len(v)-1])), nil
}

// Into decodes v into dst: a *string, *bool, *int, *int64, *uint32, *uint64,
// *[]string or *time.Time (RFC 3339), a *Value, which keeps it as it stands, or a func(Value) error,
// which is called with it. No type is converted into another, and null fits no other type.
func (v Value) Into(dst any) (err error) {
	switch d := dst.(type) {
	case *string:
		*d, err = v.String()
	case *bool:
		*d, err = v.boolean()
	case *int:
		var n int64
		n, err = v.integer()
		*d = int(n)
	case *int64:
		*d, err = v.integer()
	case *uint32:
		*d, err = unsigned[uint32](v, 32)
	case *uint64:
		*d, err = unsigned[uint64](v, 64)
	case *[]string:
		*d, err = v.strings()
	case *time.Time:
		*d, err = v.time()
	case *Value:
		*d = v
	case func(Value) error:
		err = d(v)
	case nil: // a member that is known and not read
	default:
		panic("record: can't decode into what is none of these") // and not which, so that dst may lie on the stack
	}
	return err
}

// To returns a function for Each that decodes the members that are named, each into what follows its
// name, as Into does. It leaves out all others. It is fastest where the order is that of the object.
func To(places ...any) func(name string, v Value) error { return Only(nil, places...) }

// Only is To with an error for all others.
func Only(other error, places ...any) func(name string, v Value) error {
	next := 0
	return func(name string, v Value) error {
		for range len(places) / 2 {
			at := next
			if next += 2; next == len(places) {
				next = 0
			}
			if places[at].(string) == name {
				return v.Into(places[at+1])
			}
		}
		return other
	}
}

func (v Value) boolean() (bool, error) {
	if v != "true" && v != "false" {
		return false, v.typed("true or false")
	}
	return v == "true", nil
}

func (v Value) integer() (int64, error) {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || v[0] == '"' {
		return 0, v.typed("a whole number")
	}
	return n, nil
}

func unsigned[T uint32 | uint64](v Value, size int) (T, error) {
	n, err := strconv.ParseUint(string(v), 10, size)
	if err != nil {
		return 0, v.typed(fmt.Sprintf("a whole number of at most %d bits", size))
	}
	return T(n), nil
}

func (v Value) strings() ([]string, error) {
	list := []string{}
	err := v.Elements(func(_ int, v Value) error {
		s, err := v.String()
		list = append(list, s)
		return err
	})
	return list, err
}

func (v Value) time() (time.Time, error) {
	s, err := v.String()
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, s)
	t = t.UTC()
	if year := t.Year(); err != nil || year < 0 || year > 9999 { // RFC 3339 must be able to write it in UTC, too
		return time.Time{}, v.typed("a time (RFC 3339)")
	}
	return t, nil
}

func skipSpace(v Value, i int) int {
	for v[i] == ' ' || v[i] == '\t' || v[i] == '\r' || v[i] == '\n' {
		i++
	}
	return i
}

// skipComma goes from the end of a value to the next value or to the closing bracket.
func skipComma(v Value, i int) int {
	if i = skipSpace(v, i); v[i] == ',' {
		i = skipSpace(v, i+1)
	}
	return i
}

// skip returns where the value that begins at i ends.
func skip(v Value, i int) int {
	if v[i] == '"' {
		if end := plainEnd(v, i); end > 0 {
			return end
		}
	}
	depth := 0
	for {
		switch v[i] {
		case '"':
			i = skipString(v, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			i++
		default:
			for i < len(v) && strings.IndexByte(",:]} \t\r\n", v[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}

// skipString returns where the string whose opening quote is at i ends. It ends at the
// first quote after an even number of backslashes.
func skipString(v Value, i int) int {
	for end := i + 1; ; end++ {
		end += strings.IndexByte(string(v[end:]), '"')
		first := end
		for v[first-1] == '\\' {
			first--
		}
		if (end-first)%2 == 0 {
			return end + 1
		}
	}
}

// unquote resolves the escapes in the text between the quotes of a valid string.
func unquote(s string) string { return unquoteIn(new(strings.Builder), s) }

// unquoteIn is unquote, in the memory of b.
func unquoteIn(b *strings.Builder, s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	begin := b.Len()
	b.Write(appendUnquoted(make([]byte, 0, 512), s)) // on the stack, unless s is long
	return b.String()[begin:]
}

func appendUnquoted(dst []byte, s string) []byte {
	for s != "" {
		if s[0] != '\\' {
			i := strings.IndexByte(s, '\\')
			if i < 0 {
				i = len(s)
			}
			dst, s = append(dst, s[:i]...), s[i:]
			continue
		}
		if c := s[1]; c != 'u' {
			dst, s = append(dst, unescaped(c)), s[2:]
			continue
		}
		r, _ := hex4(s, 2)
		s = s[6:]
		if 0xD800 <= r && r <= 0xDBFF {
			lo, _ := hex4(s, 2)
			r = (r-0xD800)<<10 + (lo - 0xDC00) + 0x10000
			s = s[6:]
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // " \ /
}
