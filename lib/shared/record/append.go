package record

import (
	"strconv"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Object builds one JSON object. The zero value is ready to use; Bytes closes the
// object. Names must be plain ASCII, and each may be given once.
type Object struct {
	b    []byte
	open bool // it has a member
}

// ObjectAfter returns an object whose Bytes begin with dst.
func ObjectAfter(dst []byte) Object { return Object{b: dst} }

func (o *Object) name(name string) {
	if o.open {
		o.b = append(o.b, ',')
	} else {
		if o.b == nil {
			o.b = make([]byte, 0, 512)
		}
		o.b, o.open = append(o.b, '{'), true
	}
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

// Str adds a string.
func (o *Object) Str(name, s string) {
	o.name(name)
	o.b = AppendString(o.b, s)
}

// StrIf adds a string unless it is empty.
func (o *Object) StrIf(name, s string) {
	if s != "" {
		o.Str(name, s)
	}
}

// Int adds a whole number.
func (o *Object) Int(name string, n int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, n, 10)
}

// IntIf adds a whole number unless it is 0.
func (o *Object) IntIf(name string, n int64) {
	if n != 0 {
		o.Int(name, n)
	}
}

// BoolIf adds true, or nothing.
func (o *Object) BoolIf(name string, v bool) {
	if v {
		o.Bool(name, true)
	}
}

// StrsIf adds a list of strings unless it is empty.
func (o *Object) StrsIf(name string, list []string) {
	if len(list) > 0 {
		o.Strs(name, list)
	}
}

// Bool adds true or false.
func (o *Object) Bool(name string, v bool) {
	o.name(name)
	o.b = strconv.AppendBool(o.b, v)
}

// Time adds a time as RFC 3339 in UTC, with fractions of a second if it has any. It adds
// nothing for the zero time.
func (o *Object) Time(name string, t time.Time) {
	if t.IsZero() {
		return
	}
	o.name(name)
	o.b = append(o.b, '"')
	o.b = t.UTC().AppendFormat(o.b, time.RFC3339Nano)
	o.b = append(o.b, '"')
}

// Strs adds an array of strings, which is empty if list is.
func (o *Object) Strs(name string, list []string) {
	o.name(name)
	o.b = append(o.b, '[')
	for i, s := range list {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = AppendString(o.b, s)
	}
	o.b = append(o.b, ']')
}

// Raw adds a value that is JSON already.
func (o *Object) Raw(name string, json []byte) {
	o.name(name)
	o.b = append(o.b, json...)
}

// Nested adds a value that appendTo appends as JSON.
func (o *Object) Nested(name string, appendTo func(dst []byte) []byte) {
	o.name(name)
	o.b = appendTo(o.b)
}

// List appends an array: of each element what one appends for it.
func List[T any](dst []byte, list []T, one func(of *T, dst []byte) []byte) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(&list[i], dst)
	}
	return append(dst, ']')
}

// Bytes returns the object.
func (o *Object) Bytes() []byte {
	if !o.open {
		return append(o.b, "{}"...)
	}
	return append(o.b, '}')
}

const hexDigits = "0123456789abcdef"

// asIs has the bytes that a JSON string keeps unescaped, outside UTF-8 of several bytes.
var asIs = func() (list [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		list[c] = c != '"' && c != '\\'
	}
	return list
}()

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD. So
// that a record can be printed, it also escapes DEL, the C1 controls and characters
// that reorder or hide text (bidi, zero-width and other format characters, line
// separators).
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		for i <= len(s)-8 && special(word(s[i:i+8])) == 0 && !hasDEL(word(s[i:i+8])) {
			i += 8
		}
		if n := len(s) - 8; n >= 0 && n < i && special(word(s[n:])) == 0 && !hasDEL(word(s[n:])) {
			break // the last bytes, with some before them once more
		}
		if i == len(s) {
			break
		}
		c := s[i]
		if asIs[c] {
			i++
			continue
		}
		r, n := rune(c), 1
		if c >= utf8.RuneSelf {
			if r, n = utf8.DecodeRuneInString(s[i:]); r > 0x9f && (r != utf8.RuneError || n > 1) && !hides(r) {
				i += n
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, r)
		i += n
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// hasDEL reports whether one of the eight bytes in w, all of them ASCII, is DEL.
func hasDEL(w uint64) bool { return (w+eight[3])&eight[4] != 0 }

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case utf8.RuneError:
		return utf8.AppendRune(dst, r)
	}
	if r > 0xffff {
		hi, lo := utf16.EncodeRune(r)
		return appendHex(appendHex(dst, hi), lo)
	}
	return appendHex(dst, r)
}

func appendHex(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// hides reports whether r reorders or hides text. Most letters lie between the two limits.
func hides(r rune) bool {
	return (r < 0x2070 || 0xfeff <= r) && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}
