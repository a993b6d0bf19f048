package identity

import (
	"strings"

	"pulse/lib/address"
)

// automatic reports whether a field, its name in lower case, says that a program
// sent the message. Answering one lets two programs talk to each other for ever
// (RFC 3834 §2).
func automatic(name []byte, value string) bool {
	switch string(name) {
	case "auto-submitted":
		return keyword(value) != "no"
	case "precedence":
		k := keyword(value)
		return k == "bulk" || k == "junk" || k == "list"
	case "list-id":
		return true
	case "return-path":
		return nullPath(value)
	}
	return false
}

// keyword returns what stands before parameters and comments (RFC 3834 §5), in
// lower case. Anything odder is no keyword that a caller knows.
func keyword(v string) string {
	if i := strings.IndexAny(v, ";("); i >= 0 {
		v = v[:i]
	}
	return address.Fold(strings.Trim(v, " \t\r\n"))
}

// nullPath reports whether a Return-Path is "<>" (RFC 5321 §4.5.5).
func nullPath(v string) bool {
	path, ok := strings.CutPrefix(strings.TrimLeft(v, " \t\r\n"), "<")
	return ok && strings.HasPrefix(strings.TrimLeft(path, " \t\r\n"), ">")
}
