package identity

import (
	"strings"

	"pulse/lib/shared/address"
)

// automatic reports whether a field, its name in lower case, says that a program
// sent the message. Answering one lets two programs talk to each other for ever
// (RFC 3834 §2).
func automatic(name []byte, value string) bool {
	switch string(name) {
	case "auto-submitted":
		return keyword(value) != "no"
	case "x-autoreply", "x-autorespond":
		switch keyword(value) {
		case "no", "false", "":
			return false
		}
		return true
	case "precedence":
		switch keyword(value) {
		case "bulk", "junk", "list", "auto_reply":
			return true
		}
	case "list-id":
		return true
	case "content-type":
		return strings.Join(strings.Fields(keyword(value)), "") == "multipart/report" // RFC 6522: bounces and receipts
	case "return-path":
		return nullPath(value)
	}
	return false
}

// keyword returns the text before the parameters (RFC 3834 §5), without comments
// and in lower case. A malformed value matches none of the callers' keywords.
func keyword(v string) string {
	v, _, _ = strings.Cut(uncommented(v), ";")
	return address.Fold(strings.Trim(v, " \t\r\n"))
}

// nullPath reports whether a Return-Path is "<>" (RFC 5321 §4.5.5).
func nullPath(v string) bool {
	path, ok := strings.CutPrefix(strings.TrimLeft(uncommented(v), " \t\r\n"), "<")
	return ok && strings.HasPrefix(strings.TrimLeft(path, " \t\r\n"), ">")
}

// uncommented replaces every comment (RFC 5322 §3.2.2) with a blank. A comment
// without an end reaches to the end of the value.
func uncommented(v string) string {
	if strings.IndexByte(v, '(') < 0 {
		return v
	}
	var b strings.Builder
	depth := 0
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '\\' && depth > 0:
			i++
		case c == '(':
			depth++
			b.WriteByte(' ')
		case c == ')' && depth > 0:
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	return b.String()
}
