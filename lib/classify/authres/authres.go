// Package authres reads the Authentication-Results field (RFC 8601) that the
// receiving server wrote. Package identity decides which fields of a message may be
// believed at all.
//
// Invariant: all or nothing. A field is returned only if every byte of it was
// understood. Text inside a comment, a quoted string, a reason or a property
// value never becomes a result. Parsing takes one pass, without recursion, in
// time linear in the length of the value.
//
// Caveat: some receivers echo text that the sender chose bare, with neither quotes
// nor escapes around a ";" or a ")". The only reading of such a field is the
// attacker's, and no parser can tell. The caller's rule that there be exactly one
// dmarc result still holds then, because the receiver's own stands in the field too.
package authres

import (
	"errors"
)

// Bounds. A field that exceeds one is refused with ErrBounds.
const (
	maxLen     = 64 << 10 // bytes of a value, folding included
	maxResults = 100      // results of a field
	maxProps   = 100      // properties of a result
	maxDepth   = 100      // comments within comments
)

// The classes of refusal, for errors.Is. The error itself says where and why, and
// quotes nothing from the message except the id in an ErrPin, escaped to ASCII.
var (
	ErrName      = errors.New("authres: the first Authentication-Results field has a blank or another stray byte around its name")
	ErrMalformed = errors.New("authres: malformed field")
	ErrComment   = errors.New("authres: quotes in a comment that may hide where it ends")
	ErrPin       = errors.New("authres: written by another server than the pinned one")
	ErrVersion   = errors.New("authres: version other than 1")
	ErrBounds    = errors.New("authres: too large")
)

// Field is one Authentication-Results field. One that says "none" has no Results.
type Field struct {
	// AuthservID is spelled as it stands in the field. A quoted id keeps its
	// quotes: a receiver that strips forgeries of mx.example may overlook
	// "mx.example", so the two must not compare equal.
	AuthservID string
	Results    []Result
}

// Result is one method=value with its reason and properties (RFC 8601 §2.2 resinfo).
// Method and Value are lower case. The exception is the value of "envelope-from" and
// "helo", which are not methods, but which Amazon SES writes after a ";" like one.
type Result struct {
	Method, Value string
	Reason        string
	Props         []Prop
}

// Prop is one property. Type and Name are lower case; Type is empty for the
// bare name=value that several receivers write. Value is the content of a
// quoted string, or the text as it stands; a mailbox with a quoted local part
// keeps the quotes, which are part of the address.
//
// Comment reports whether a comment follows the value. A DNS label may hold a blank
// and a parenthesis, so the name of a proven domain may continue in that comment.
type Prop struct {
	Type, Name, Value string
	Comment           bool
}

// Prop returns the value of the property ptype.name (lower case) and how often it
// occurs. The value is empty unless it occurs exactly once, because nothing tells
// which of two the receiver meant.
func (r Result) Prop(ptype, name string) (value string, n int) {
	for i := range r.Props {
		if p := &r.Props[i]; p.Name == name && p.Type == ptype {
			value = p.Value
			n++
		}
	}
	if n != 1 {
		return "", n
	}
	return value, 1
}

// Named reports whether a field is called Authentication-Results, and whether odd bytes
// stand around that name, which then is an ErrName. Names are compared as received, ASCII
// letters in either case. A name with a blank before the colon (RFC 5322 §4.5.8) counts
// too, because some receivers miss it when they strip forgeries.
func Named(name string) (is, odd bool) {
	if len(name) < len(fieldName) {
		return false, false
	}
	trimmed := trimName(name)
	is = isFieldName(trimmed)
	return is, is && len(trimmed) != len(name)
}

const fieldName = "authentication-results"

func isFieldName(s string) bool {
	if len(s) != len(fieldName) {
		return false
	}
	for i := range len(s) {
		if lowerByte(s[i]) != fieldName[i] {
			return false
		}
	}
	return true
}

// trimName removes from both ends every byte that can't be in a field name (RFC 5322
// §2.2). That is more than blanks, because a later reader might trim the rest too.
func trimName(s string) string {
	for s != "" && !isGraph(s[0]) {
		s = s[1:]
	}
	for s != "" && !isGraph(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func isGraph(c byte) bool { return c > ' ' && c < 0x7f }

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
