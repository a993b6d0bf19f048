// Package taglist reads the tag-lists of DKIM and DMARC (RFC 6376 §3.2).
//
// Invariant: a parsed list holds each name once, printable ASCII and folding only,
// and no more than 50 tags. Caveat: it does not know what a tag means or which tags
// must be there; the caller does.
package taglist

import (
	"errors"
	"strings"
)

// Blanks holds the bytes of folding white space (RFC 6376 §2.8). Parse makes sure that
// CRLF stands only before SP or HTAB.
const Blanks = " \t\r\n"

// Tag is one name=value. The value does not begin or end with blanks.
type Tag struct{ Name, Value string }

// List is a tag-list in the order of the text.
type List []Tag

// maxTags bounds a list; the standard knows 13.
const maxTags = 50

// The errors of Parse.
var (
	errTagByte  = errors.New("it holds a byte that no tag may hold")
	errTagForm  = errors.New("a tag is not name=value")
	errTagTwice = errors.New("a tag stands there twice")
	errTagMany  = errors.New("it has more than 50 tags")
)

// Parse reads a tag-list. It is narrower than go-msgauth, which accepts every blank
// that Unicode knows. Both skip empty tags, as in ";;".
func Parse(s string) (List, error) {
	return Append(make(List, 0, min(strings.Count(s, ";")+1, maxTags)), s)
}

// Append is Parse, and appends to a list that is empty, but may have memory.
func Append(list List, s string) (List, error) {
	if !tagBytes(s) {
		return nil, errTagByte
	}
	var seen uint64 // a bit for each length and first byte of a name
	for more := true; more; {
		var spec string
		spec, s, more = strings.Cut(s, ";")
		if spec = Trim(spec); spec == "" {
			continue
		}
		name, value, ok := strings.Cut(spec, "=")
		name = Trim(name)
		if !ok || !tagName(name) {
			return nil, errTagForm
		}
		bit := uint64(1) << ((uint(len(name))*8 + uint(name[0])) % 64)
		if seen&bit != 0 && list.has(name) {
			return nil, errTagTwice
		}
		if seen |= bit; len(list) == maxTags {
			return nil, errTagMany
		}
		list = append(list, Tag{name, Trim(value)})
	}
	return list, nil
}

// Trim removes the blanks at both ends.
func Trim(s string) string {
	for s != "" && blank(s[0]) {
		s = s[1:]
	}
	for s != "" && blank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// tagBytes reports whether s is printable ASCII and folding.
func tagBytes(s string) bool {
	for i := 0; i < len(s); i++ {
		for len(s)-i >= 8 && printable(s[i:i+8]) {
			i += 8
		}
		if i == len(s) {
			break
		}
		switch c := s[i]; {
		case ' ' <= c && c <= '~':
		case c == '\r':
			if len(s) < i+3 || s[i+1] != '\n' || s[i+2] != ' ' && s[i+2] != '\t' {
				return false
			}
			i++
		case c != '\t':
			return false
		}
	}
	return true
}

// printable reports whether all of eight bytes are printable ASCII. It looks at them at
// once, as one number.
func printable(s string) bool {
	_ = s[7]
	w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	return ((w-ones*' ')|(w+ones)|w)&highs == 0 // below a space; DEL; beyond ASCII
}

// tagName reports whether s is ALPHA *( ALPHA / DIGIT / "_" ).
func tagName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'a' <= c|0x20 && c|0x20 <= 'z' || i > 0 && (c == '_' || '0' <= c && c <= '9') {
			continue
		}
		return false
	}
	return s != ""
}

// Get returns the value of a tag, and whether it is there.
func (t List) Get(name string) (value string, ok bool) {
	for i := range t {
		if t[i].Name == name {
			return t[i].Value, true
		}
	}
	return "", false
}

func (t List) has(name string) bool {
	_, ok := t.Get(name)
	return ok
}

// Or returns the value of a tag, or absent if the tag is not there.
func (t List) Or(name, absent string) string {
	if value, ok := t.Get(name); ok {
		return value
	}
	return absent
}

// Elements splits a value at its colons and returns the elements without the blanks
// around them.
func Elements(value string) []string {
	names := strings.Split(value, ":")
	for i := range names {
		names[i] = Trim(names[i])
	}
	return names
}
