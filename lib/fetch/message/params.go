package message

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/encodedword"
	"pulse/lib/shared/envelope"
)

// mediaType parses a value like that of Content-Type or Content-Disposition (RFC 2045 §5.1,
// RFC 2183): a word or two with a slash between them, in lower case, and the parameters by
// their names in lower case. It goes on after what breaks the grammar, because mail readers
// show a mail with a malformed boundary, too. Of two parameters of one name it takes the
// first.
func (p *parser) mediaType(value string) (kind string, params map[string]string) {
	value = relaxed(value)
	if len(value) > maxValue {
		value = value[:maxValue]
		p.add(envelope.MalformedMIME)
	}
	s := scanner{rest: value}
	kind = address.Fold(s.token())
	if s.skip('/') {
		if sub := s.token(); kind != "" && sub != "" {
			kind += "/" + address.Fold(sub)
		} else {
			kind = ""
		}
	}
	if s.space(); s.rest != "" && s.rest[0] != ';' {
		s.broken = true
	}
	params = map[string]string{}
	var split []piece
	for s.next() {
		name, value := s.parameter()
		if found, ok := cutPiece(name, value); ok {
			split = append(split, found)
		} else if name != "" {
			s.set(params, name, value)
		}
	}
	p.join(&s, params, split)
	if s.broken || kind == "" {
		p.add(envelope.MalformedMIME)
	}
	return kind, params
}

// scanner reads tokens and quoted strings. Blanks and comments (RFC 5322 §3.2.2) may stand
// between them.
type scanner struct {
	rest   string
	broken bool // something broke the grammar, and was passed over
}

// space skips blanks and comments.
func (s *scanner) space() {
	for depth := 0; s.rest != ""; s.rest = s.rest[1:] {
		switch c := s.rest[0]; {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == '\\' && depth > 0 && len(s.rest) > 1:
			s.rest = s.rest[1:]
		case depth == 0 && c != ' ' && c != '\t':
			return
		}
		if len(s.rest) == 1 && depth > 0 {
			s.broken = true
		}
	}
}

// token returns a token, or the empty string.
func (s *scanner) token() string {
	s.space()
	n := 0
	for n < len(s.rest) && tokenByte(s.rest[n]) {
		n++
	}
	token := s.rest[:n]
	s.rest = s.rest[n:]
	return token
}

const tspecials = `()<>@,;:\"/[]?=`

// tokenByte reports whether a token may hold c (RFC 2045 §5.1).
func tokenByte(c byte) bool {
	return ' ' < c && c < 0x7f && strings.IndexByte(tspecials, c) < 0
}

// skip skips c, and reports whether it was there.
func (s *scanner) skip(c byte) bool {
	s.space()
	found := s.rest != "" && s.rest[0] == c
	if found {
		s.rest = s.rest[1:]
	}
	return found
}

// next goes to the next parameter. It passes over what should not stand before it.
func (s *scanner) next() bool {
	for {
		if s.space(); s.rest == "" {
			return false
		}
		if s.rest[0] == ';' {
			s.rest = s.rest[1:]
			continue
		}
		return true
	}
}

// parameter reads one parameter, up to the semicolon after it. A value that is neither a
// token nor quoted is what stands there, without a comment at its end.
func (s *scanner) parameter() (name, value string) {
	name = address.Fold(s.token())
	if name == "" || !s.skip('=') {
		s.broken = true
		s.raw()
		return "", ""
	}
	s.space()
	if value, ok := s.quoted(); ok {
		if s.space(); s.rest != "" && s.rest[0] != ';' {
			s.broken = true
			s.raw()
		}
		return name, value
	}
	before := s.rest
	if value = s.token(); value != "" {
		if s.space(); s.rest == "" || s.rest[0] == ';' {
			return name, value
		}
	}
	s.broken, s.rest = true, before
	return name, s.raw()
}

// raw returns what stands before the next semicolon.
func (s *scanner) raw() string {
	value, _, _ := strings.Cut(s.rest, ";")
	s.rest = s.rest[len(value):]
	value, _, _ = strings.Cut(value, " (")
	return strings.Trim(value, " \t\"")
}

// quoted reads a quoted string; ok is false if there is none, or it has no end. A backslash
// counts only before what needs one, because of Windows paths.
func (s *scanner) quoted() (value string, ok bool) {
	if s.rest == "" || s.rest[0] != '"' {
		return "", false
	}
	var b strings.Builder
	for i := 1; i < len(s.rest); i++ {
		c := s.rest[i]
		switch {
		case c == '"':
			s.rest = s.rest[i+1:]
			return b.String(), true
		case c == '\\' && i+1 < len(s.rest) && strings.IndexByte(tspecials, s.rest[i+1]) >= 0:
			i++
			c = s.rest[i]
		}
		b.WriteByte(c)
	}
	return "", false
}

// set keeps a parameter unless it has one of that name.
func (s *scanner) set(params map[string]string, name, value string) {
	if old, twice := params[name]; !twice {
		params[name] = value
	} else if old != value {
		s.broken = true
	}
}

// piece is a part of a parameter whose value is split, or has a charset (RFC 2231).
type piece struct {
	name    string
	n       int  // its place; -1 if it is the whole value
	percent bool // % and two hex digits stand for a byte
	value   string
}

// cutPiece reads "name*=", "name*N=" and "name*N*=".
func cutPiece(name, value string) (piece, bool) {
	name, place, ok := strings.Cut(name, "*")
	place, percent := strings.CutSuffix(place, "*")
	if !ok || name == "" {
		return piece{}, false
	}
	if place == "" && !percent {
		return piece{name, -1, true, value}, true
	}
	n, err := strconv.Atoi(place)
	return piece{name, n, percent, value}, err == nil && n >= 0 && len(place) < 4
}

// join puts the pieces together and decodes them. They win over a parameter of the same
// name without an asterisk, which is there for old readers.
func (p *parser) join(s *scanner, params map[string]string, pieces []piece) {
	slices.SortStableFunc(pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.n, b.n))
	})
	for len(pieces) > 0 {
		first := pieces[0]
		n := 1
		for n < len(pieces) && pieces[n].name == first.name {
			n++
		}
		if value, ok := p.joined(s, pieces[:n]); ok {
			params[first.name] = value
		}
		pieces = pieces[n:]
	}
}

// joined returns the value that pieces of one name make, in their order. A whole value wins
// over those in pieces. What follows a gap is dropped.
func (p *parser) joined(s *scanner, pieces []piece) (string, bool) {
	charset, text, next := "", []byte(nil), max(pieces[0].n, 0)
	s.broken = s.broken || next > 0
	for i, piece := range pieces {
		if i > 0 && (piece.n != next || pieces[0].n < 0) {
			s.broken = true
			break
		}
		value := piece.value
		if i == 0 && piece.percent {
			charset, value = language(value)
		}
		next++
		if piece.percent {
			value = unpercent(value)
		}
		text = append(text, value...)
	}
	r, _ := p.decodeCharset(charset, bytes.NewReader(text))
	b, err := io.ReadAll(r)
	return string(b), err == nil && pieces[0].n <= 0
}

// language cuts "charset'language'text"; without two quotes, all of s is text.
func language(s string) (charset, text string) {
	if parts := strings.SplitN(s, "'", 3); len(parts) == 3 {
		return parts[0], parts[2]
	}
	return "", s
}

// unpercent decodes %XX; a % without two hex digits stands for itself.
func unpercent(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) && encodedword.Unhex(s[i+1]) < 16 && encodedword.Unhex(s[i+2]) < 16 {
			c = encodedword.Unhex(s[i+1])<<4 | encodedword.Unhex(s[i+2])
			i += 2
		}
		b = append(b, c)
	}
	return string(b)
}
