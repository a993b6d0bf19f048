package message

import (
	"strings"

	"pulse/lib/shared/encodedword"
)

// plainCSS returns css in lower case, without anything that only looks like structure (CSS
// Syntax §4): comments, escapes, the content of strings and addresses, and the comment
// signs that old pages put around a sheet.
func plainCSS(css string) string {
	if !strings.ContainsFunc(css, special) {
		return css // there are many attributes, and most are plain
	}
	var b strings.Builder
	b.Grow(len(css))
	for i := 0; i < len(css); {
		rest := css[i:]
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "/*"):
			i += 2 + upTo(rest[2:], "*/")
		case strings.HasPrefix(rest, "<!--"):
			i += 4
		case strings.HasPrefix(rest, "-->"):
			i += 3
		case c == '\\' && len(rest) > 1:
			r, n := cssEscape(rest[1:])
			b.WriteRune(r)
			i += 1 + n
		case c == '"' || c == '\'':
			n := stringEnd(rest)
			b.WriteByte('"')
			writeWord(&b, rest[1:n])
			b.WriteByte('"')
			i += n
		case c == '(' && urlBefore(b.String()) && !quoted(rest[1:]):
			b.WriteByte('(')
			n := 1 + upTo(rest[1:], ")")
			if rest[n-1] == ')' {
				b.WriteByte(')')
			}
			i += n
		default:
			b.WriteByte(lowerByte(c))
			i++
		}
	}
	return b.String()
}

// special reports whether CSS with r may not be plain.
func special(r rune) bool {
	return r > 127 || !nameByte(byte(r)) && r != ' ' && r != ':' && r != ';' && r != '#'
}

// upTo returns the length of s up to and including end, or of all of s if it has no end.
func upTo(s, end string) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}

func urlBefore(s string) bool { return strings.HasSuffix(s, "url") }

// quoted reports whether a string comes next.
func quoted(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n\f")
	return s != "" && (s[0] == '"' || s[0] == '\'')
}

// stringEnd returns the length of the string that s begins with, including its quotes. A
// line end ends a string, too (CSS Syntax §4.3.5).
func stringEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		case '\n':
			return i
		}
	}
	return len(s)
}

// writeWord writes those bytes of s that a name may have.
func writeWord(b *strings.Builder, s string) {
	for i := 0; i < len(s); i++ {
		if c := lowerByte(s[i]); nameByte(c) {
			b.WriteByte(c)
		}
	}
}

func nameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c > 127
}

// cssEscape decodes what follows a backslash: up to six hex digits and a blank, or any
// character (CSS Syntax §4.3.7). A character that a name may not have becomes an
// underscore, because an escape is never structure.
func cssEscape(s string) (r rune, n int) {
	for n < len(s) && n < 6 && encodedword.Unhex(s[n]) < 16 {
		r = r<<4 | rune(encodedword.Unhex(s[n]))
		n++
	}
	if n == 0 {
		r, n = rune(s[0]), 1
	} else if n < len(s) && (s[n] == ' ' || s[n] == '\t' || s[n] == '\n') {
		n++
	}
	if r < 128 {
		if r = rune(lowerByte(byte(r))); !nameByte(byte(r)) {
			r = '_'
		}
	}
	return r, n
}
