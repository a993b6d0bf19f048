// Package addrspec reads whom a field of addresses names (RFC 5322 §3.4). It is narrower than the
// standard wherever two readers were ever seen to disagree about whose address a field holds.
//
// Invariant: what is accepted is one plain address that stands in the field byte for byte, and
// people are shown no other beside it.
package addrspec

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"pulse/lib/shared/address"
)

// Mailbox is one plain address, byte for byte as it stands in the field.
type Mailbox struct{ Address, Local, Domain string }

// Parse reads a field value, all of which must be one mailbox (RFC 5322
// §3.4):
//
//	[display name] <local@domain> [comment]    or    local@domain [comment]
//
// Groups, routes, domain literals,
// quoted local parts, encoded words in the address, non-ASCII in the address and
// blanks inside the angle brackets are refused. A display name is atoms, dots,
// quoted strings and letters of any script. Comments are accepted because mail(1)
// writes "me@example.com (Me)"; they may not hold brackets, quotes or backslashes.
//
// Neither a display name nor a comment may hold < or >, so the first < and the first >
// are the only ones. Neither may hold an @, except that a display name may be the
// address once more and nothing else, as Outlook writes it. Encoded words, decoded as
// people see them, obey the same rules, may not hold controls and may not reach over a
// bracket.
func Parse(v string) (Mailbox, bool) {
	name, rest, angle := strings.Cut(v, "<")
	if !angle {
		return parseBare(v)
	}
	addr, tail, closed := strings.Cut(rest, ">")
	if !closed || !phrase(name, true) || !phrase(tail, false) {
		return Mailbox{}, false
	}
	if !strings.Contains(v, "=?") { // then all is shown as it stands
		if strings.IndexByte(name, '@') >= 0 && !address.Equal(strings.Trim(name, " \t\"'"), addr) {
			return Mailbox{}, false
		}
		return plain(addr)
	}
	shown, hides := spelled(name)
	if (hides || strings.IndexByte(name, '@') >= 0) && !address.Equal(strings.Trim(shown, " \t\"'"), addr) {
		return Mailbox{}, false
	}
	end, hides := spelled(tail)
	if whole, _ := spelled(v); hides || whole != shown+"<"+addr+">"+end {
		return Mailbox{}, false
	}
	return plain(addr)
}

// parseBare reads an address without angle brackets.
func parseBare(v string) (Mailbox, bool) {
	at := strings.IndexByte(v, '@')
	if at < 0 {
		return Mailbox{}, false
	}
	start, end := at, at
	for start > 0 && !ends(v[start-1], '\n') && v[start-1] != ')' {
		start--
	}
	for end < len(v) && !ends(v[end], '\r') { // "example.com(.evil.example" is one name
		end++
	}
	if !phrase(v[:start], false) || !phrase(v[end:], false) {
		return Mailbox{}, false
	}
	if _, hides := spelled(v); hides {
		return Mailbox{}, false
	}
	return plain(v[start:end])
}

// ends reports whether c is a blank, or the byte of a folding that is next to the text.
func ends(c, fold byte) bool { return c == ' ' || c == '\t' || c == fold }

// plain splits an address. It refuses an encoded word, which would otherwise pass as a
// local part, because = and ? may stand in atoms. RFC 2047 §5 forbids one there, but
// some readers decode it.
func plain(addr string) (Mailbox, bool) {
	local, domain, err := address.Split(addr)
	if err != nil || strings.Contains(addr, "=?") {
		return Mailbox{}, false
	}
	return Mailbox{addr, local, domain}, true
}

// AppendList reads a list of mailboxes (RFC 5322 §3.4 mailbox-list, no groups
// and no empty elements).
func AppendList(list []string, v string) ([]string, bool) {
	for {
		end, ok := element(v)
		if !ok {
			return nil, false
		}
		box, ok := Parse(v[:end])
		if !ok {
			return nil, false
		}
		list = append(list, box.Address)
		if end == len(v) {
			return list, true
		}
		v = v[end+1:]
	}
}

// element returns where the first element of a list ends: at a comma outside
// quotes and comments, or at the end.
func element(v string) (end int, ok bool) {
	for i := 0; i < len(v); {
		n := 1
		switch v[i] {
		case ',':
			return i, true
		case '"':
			n = enclosed(v[i:], '"')
		case '(':
			n = enclosed(v[i:], ')')
		}
		if n == 0 {
			return 0, false
		}
		i += n
	}
	return len(v), true
}

// phrase reports whether s holds only blanks, folding, simple comments and, if words
// is set, the words of a display name.
func phrase(s string, words bool) bool {
	for i := 0; i < len(s); {
		n := 0
		switch c := s[i]; {
		case c == '(':
			n = enclosed(s[i:], ')')
		case words && c == '"':
			n = enclosed(s[i:], '"')
		case c == ' ', c == '\t', c == '\r', words && (c >= utf8.RuneSelf || atom(c)):
			n = text(s[i:])
		}
		if n == 0 {
			return false
		}
		i += n
	}
	return true
}

// enclosed returns the length of the comment or quoted string that s begins with,
// or 0.
func enclosed(s string, end byte) int {
	for i := 1; i < len(s); {
		n := 0
		switch c := s[i]; {
		case c == end:
			return i + 1
		case c == '\\' && end == '"' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			n = 2
		case strings.IndexByte(`\<>"`, c) >= 0:
		case end == ')' && (c == '(' || c == '@'):
		default:
			n = text(s[i:])
		}
		if n == 0 {
			return 0
		}
		i += n
	}
	return 0
}

// text returns the length of the character or the folding that s begins with, or 0
// for a control and for bytes that are not UTF-8. U+FFFD is text, because a name in
// some old charset is not a reason to doubt the address.
func text(s string) int {
	switch c := s[0]; {
	case c == '\r':
		if len(s) < 3 || s[1] != '\n' || s[2] != ' ' && s[2] != '\t' {
			return 0
		}
		return 2
	case c == '\t' || ' ' <= c && c <= '~':
		return 1
	}
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 || unicode.IsControl(r) {
		return 0
	}
	return n
}

// atom reports whether c is atext or a dot (RFC 5322 §3.2.3 and obs-phrase).
func atom(c byte) bool {
	return c > ' ' && c < 0x7f && strings.IndexByte(`()<>[]:;@\,"`, c) < 0
}

// Suspect guesses why Parse refused v. The guess is shown to people, and
// nothing is decided by it.
func Suspect(v string) string {
	has := func(chars string) bool { return strings.ContainsAny(v, chars) }
	_, hides := spelled(v)
	switch {
	case hides && has("@"):
		return "an encoded word holds an @, angle brackets or a control"
	case !has("@"):
		return "there is no address"
	case strings.Count(v, "@") > 1:
		return "there is more than one @"
	case has(","):
		return "there is a comma outside quotes, or a list"
	case has(":;"):
		return "there is a group or a route"
	case has("["):
		return "there is a domain in brackets"
	case strings.Contains(v, "=?"):
		return "there may be an encoded word in the address"
	}
	return "it breaks the grammar of pulse-classify(1)"
}
