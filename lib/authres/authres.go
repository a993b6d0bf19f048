// Package authres reads the Authentication-Results field (RFC 8601) that the
// receiving server wrote, and decides which one field of a message may be
// believed at all.
//
// Invariant: all or nothing. A field is returned only when every byte of it was
// understood; text inside a comment, a quoted string, a reason or a property
// value never becomes a result. Parsing takes one pass, without recursion, in
// time linear in the length of the value.
//
// Caveat: a receiver that echoes sender-chosen text bare, with neither quotes
// nor escapes around a ";" or a ")", writes a field whose only reading is the
// attacker's. No parser can tell. What holds then is the caller's rule that
// there be exactly one dmarc result: the receiver's own still stands in the field.
package authres

import (
	"errors"
	"fmt"
	"iter"
)

// Bounds. A field that exceeds one is refused with ErrBounds.
const (
	MaxLen     = 64 << 10 // bytes of a value, folding included
	MaxResults = 100      // results of a field
	MaxProps   = 100      // properties of a result
	MaxDepth   = 100      // comments within comments
)

// The classes of refusal. Test for them with errors.Is; the error itself says
// where and why, and never quotes the message except for the id of a PinError.
var (
	ErrNone      = errors.New("authres: no Authentication-Results field")
	ErrName      = errors.New("authres: the first Authentication-Results field has a blank or another stray byte around its name")
	ErrMalformed = errors.New("authres: malformed field")
	ErrComment   = errors.New("authres: quotes in a comment that may hide where it ends")
	ErrPin       = errors.New("authres: written by another server than the pinned one")
	ErrVersion   = errors.New("authres: version other than 1")
	ErrBounds    = errors.New("authres: too large")
)

// PinError is the ErrPin that tells which id the first field bears. ID comes
// from the message and is hostile text of up to MaxLen bytes; Error shows its
// beginning, escaped to ASCII.
type PinError struct{ ID string }

func (e *PinError) Error() string { return fmt.Sprintf("%v: %+.100q", ErrPin, e.ID) }

// Unwrap returns ErrPin.
func (e *PinError) Unwrap() error { return ErrPin }

// Field is one Authentication-Results field. "none" gives no Results.
type Field struct {
	// AuthservID is spelled as it stands in the field. A quoted id keeps its
	// quotes: the receiver that strips forgeries of mx.example may overlook
	// "mx.example", so the two must not compare equal.
	AuthservID string
	Results    []Result
}

// Result is one method=value with what was said about it (RFC 8601 §2.2
// resinfo). Method and Value are lower case, except for the value of the pseudo
// methods "envelope-from" and "helo", which Amazon SES sets off with a ";" of
// their own.
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
// Comment tells that a comment stands behind the value. A label of the DNS may hold
// a blank and a parenthesis, so a value that says who is proven may go on in it.
type Prop struct {
	Type, Name, Value string
	Comment           bool
}

// Prop returns the value of the property ptype.name (lower case) and how often
// it occurs. Unless that is exactly once the value is empty: which of two the
// receiver meant is not for us to guess.
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

// Method returns the results of a method (lower case), in the order of the field.
func (f Field) Method(name string) []Result {
	var found []Result
	for i := range f.Results {
		if f.Results[i].Method == name {
			found = append(found, f.Results[i])
		}
	}
	return found
}

// First parses the one field that counts: the first named
// Authentication-Results, whatever it says. A receiver adds its field on top, so
// any later one may be the sender's work (RFC 8601 §5). Names are compared
// as received, ASCII letters in either case; a name with a blank before the
// colon (RFC 5322 §4.5.8) decides as well, and voids, for some receivers miss it
// when they strip forgeries.
//
// The id must equal pin byte for byte; an empty pin equals nothing. The pin is
// compared before the rest is read, so a field of another server is an ErrPin
// even when it is also malformed further on.
func First(fields iter.Seq2[string, string], pin string) (Field, error) {
	for name, value := range fields {
		switch trimmed := trimName(name); {
		case !isFieldName(trimmed):
			continue
		case len(trimmed) != len(name):
			return Field{}, ErrName
		}
		return parse(value, func(id string) bool { return id == pin })
	}
	return Field{}, ErrNone
}

// Parse parses the value of one field: what stands after "Name:", folding kept
// as CRLF and blanks, without the CRLF that ends the field. On an error, which
// is ErrMalformed, ErrComment, ErrVersion or ErrBounds, the Field is zero.
//
// It accepts RFC 8601 §2.2 and these habits of real receivers, none of which
// blurs where a token ends: one final ";", "_" in keywords, properties without a
// type, a reason after properties, and any printable ASCII but ;"()\ in an
// unquoted value. Versions of field and method must be absent or 1.
//
// It refuses some that RFC 8601 allows: a comment with an odd number of
// quotes, with a parenthesis between quotes or with a quote behind a backslash
// (receivers echo sender-chosen text there), a quoted string that ends in a
// backslash, non-ASCII other than letters, marks and digits outside quotes, and
// U+FFFD outside comments. The last is what different broken bytes become when made into
// UTF-8, and would make unequal values equal.
func Parse(value string) (Field, error) {
	return parse(value, func(string) bool { return true })
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

// trimName removes from both ends what can't be in a field name (RFC 5322 §2.2),
// which is more than blanks: somebody downstream might trim it too.
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
