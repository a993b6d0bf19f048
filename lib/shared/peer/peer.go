// Package peer holds the ids by which a chat platform names its senders and chats: numbers
// on some, strings on others (pulse-policy(5)).
//
// Invariant: the number 123 and the string "123" are different ids, and two ids are equal
// only if they are the same bytes. Caveat: an id says nothing about its platform, so ids of
// two platforms must not be compared.
package peer

import (
	"errors"
	"strconv"
	"strings"

	"pulse/lib/shared/record"
)

// ID is an id as people write it: a number in digits, a string as it is, or in quotes if it
// could be taken for a number. No two ids have the same text. The empty ID names nobody.
type ID string

// maxText bounds a string, in bytes.
const maxText = 64

// ErrInvalid is the error for what can't be an id.
var ErrInvalid = errors.New("want a whole number, or a string of at most 64 letters, digits, dots, - and _")

// Number returns the id of a number. No platform assigns 0: it names nobody.
func Number(n int64) ID {
	if n == 0 {
		return ""
	}
	return ID(strconv.FormatInt(n, 10))
}

// Text returns the id of a string. It takes ASCII only, because other letters can look the
// same, and no colon, because identity.sender has one before the id.
func Text(s string) (ID, error) {
	if s == "" || len(s) > maxText || strings.IndexFunc(s, odd) >= 0 {
		return "", ErrInvalid
	}
	if digits(s) {
		return ID(`"` + s + `"`), nil
	}
	return ID(s), nil
}

func odd(c rune) bool {
	return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("_-.", c)
}

// digits reports whether s looks like a whole number, however large.
func digits(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// Parse reads an id as people write it.
func Parse(s string) (ID, error) {
	if quoted, ok := strings.CutPrefix(s, `"`); ok {
		if s, ok = strings.CutSuffix(quoted, `"`); !ok {
			return "", ErrInvalid
		}
		return Text(s)
	}
	if !digits(s) {
		return Text(s)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n == 0 {
		return "", ErrInvalid
	}
	return Number(n), nil
}

// Decode reads an id from a record.
func Decode(v record.Value) (ID, error) {
	if v[0] != '"' {
		var n int64
		err := v.Into(&n)
		return Number(n), err
	}
	s, err := v.String()
	if err != nil {
		return "", err
	}
	return Text(s)
}

// JSON returns the id as JSON, which is TOML too: 0 if it names nobody.
func (id ID) JSON() string {
	switch {
	case id == "":
		return "0"
	case id[0] == '"' || digits(string(id)):
		return string(id)
	}
	return `"` + string(id) + `"`
}

// UnmarshalTOML implements unstable.Unmarshaler: it reads a value as it stands in the file. A
// string has no escapes.
func (id *ID) UnmarshalTOML(value []byte) (err error) {
	s := string(value)
	if s[0] == '"' || s[0] == '\'' {
		*id, err = Text(s[1 : len(s)-1])
		return err
	}
	n, err := strconv.ParseInt(s, 0, 64)
	*id = Number(n)
	return err
}
