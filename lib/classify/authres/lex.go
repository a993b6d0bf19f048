package authres

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is a set of ASCII characters that words are made of.
type class uint8

const (
	digitClass   class = 1 << iota
	keywordClass       // RFC 5321 Keyword, plus "_" (Fastmail, Yahoo)
	tokenClass         // RFC 2045 token
	valueClass         // an unquoted pvalue, as liberal as receivers are
	domainClass        // valueClass without "@"
	plainClass         // text without a special meaning in comments and quotes
	cfwsClass          // what a comment or a blank begins with
)

var classes = func() (t [256]class) {
	for c := byte('!'); c < 0x7f; c++ {
		if '0' <= c && c <= '9' {
			t[c] |= digitClass | keywordClass
		}
		if l := lowerByte(c); 'a' <= l && l <= 'z' || c == '-' || c == '_' {
			t[c] |= keywordClass
		}
		if !strings.ContainsRune(`()<>@,;:\"/[]?=`, rune(c)) {
			t[c] |= tokenClass
		}
		if !strings.ContainsRune(`;"()\`, rune(c)) {
			t[c] |= valueClass | domainClass
		}
		if !strings.ContainsRune(`"()\`, rune(c)) {
			t[c] |= plainClass
		}
	}
	t['@'] &^= domainClass
	t[' '], t['\t'] = plainClass|cfwsClass, plainClass|cfwsClass
	t['\r'], t['('] = cfwsClass, cfwsClass|t['(']
	return t
}()

func (p *parser) end() bool { return p.i == len(p.s) }

func (p *parser) at(c byte) bool { return p.i < len(p.s) && p.s[p.i] == c }

func (p *parser) take(c byte) bool {
	if !p.at(c) {
		return false
	}
	p.i++
	return true
}

func (p *parser) expected(what string) error {
	return fmt.Errorf("%w: at byte %d: expected %s", ErrMalformed, p.i, what)
}

// word reads the longest run of characters of class c, which may be empty. Internet
// mail addresses may be in any script (RFC 6532), so letters, marks and digits
// beyond ASCII belong to the classes that can hold a name. Blanks, invisible
// characters and symbols beyond ASCII belong to no class.
func (p *parser) word(c class) string {
	start := p.i
	for {
		i := p.i
		for i < len(p.s) && classes[p.s[i]]&c != 0 {
			i++
		}
		if p.i = i; i == len(p.s) || p.s[i] < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeRuneInString(p.s[p.i:])
		if c&(digitClass|keywordClass) != 0 || !unicode.In(r, unicode.L, unicode.M, unicode.N) {
			break
		}
		p.i += n
	}
	return p.s[start:p.i]
}

// cfws skips comments and folding white space (RFC 5322 §3.2.2) and reports
// whether there was any: a comment separates tokens as a blank does.
func (p *parser) cfws() (bool, error) {
	if p.end() || classes[p.s[p.i]]&cfwsClass == 0 {
		return false, nil
	}
	return p.someCFWS()
}

func (p *parser) someCFWS() (bool, error) {
	start := p.i
	for p.i < len(p.s) {
		var err error
		switch p.s[p.i] {
		case ' ', '\t':
			p.i++
		case '\r':
			err = p.fold()
		case '(':
			err = p.comment()
		default:
			return p.i > start, nil
		}
		if err != nil {
			return false, err
		}
	}
	return p.i > start, nil
}

// fold reads CRLF, which counts only if a blank follows.
func (p *parser) fold() error {
	if rest := p.s[p.i:]; len(rest) < 3 || rest[1] != '\n' || rest[2] != ' ' && rest[2] != '\t' {
		return p.expected("a folded line")
	}
	p.i += 2
	return nil
}

// comment reads a comment and those nested in it.
//
// Receivers write sender-chosen text into comments, most often a mailbox that
// may have a quoted local part: (domain of "x) ; dmarc=pass (y"@evil.example).
// RFC 5322 gives quotes no meaning here and ends that comment at the first ")",
// which is what the sender wants. A sender with a "(" in one text and a ")" in
// another can make a comment swallow the results between them. So a parenthesis
// between quotes is refused. That covers an odd number of quotes, because the
// parenthesis that closes the comment is then between quotes too.
//
// That holds only while the sender can't end the quotes from within. A mailbox
// holds its inner quotes escaped. The text that rspamd puts in quotes does too, but
// rspamd leaves its backslashes alone: \" becomes \\" and looks unescaped. So a
// quote after a backslash is refused, whichever way it is read.
func (p *parser) comment() error {
	start, depth, inQuotes := p.i, 0, false
	for p.plain(); !p.end(); p.plain() {
		c := p.s[p.i]
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case '"':
			inQuotes = !inQuotes
		}
		if depth > maxDepth {
			return fmt.Errorf("%w: comments nested over %d deep", ErrBounds, maxDepth)
		}
		if err := p.textChar(true); err != nil {
			return err
		}
		if inQuotes && (c == '(' || c == ')') || p.s[p.i-1] == '"' && p.s[p.i-2] == '\\' {
			return fmt.Errorf("%w: comment at byte %d", ErrComment, start)
		}
		if depth == 0 {
			return nil
		}
	}
	return p.expected(`")" of the comment`)
}

// quoted reads a quoted string (RFC 5322 §3.2.4), quotes included. One that ends
// in a backslash is refused: it is what \" becomes where only quotes are escaped.
func (p *parser) quoted() error {
	p.i++
	for p.plain(); !p.end(); p.plain() {
		if p.at('"') {
			if p.s[p.i-1] == '\\' {
				return p.expected("text after the backslash")
			}
			p.i++
			return nil
		}
		if err := p.textChar(false); err != nil {
			return err
		}
	}
	return p.expected(`the closing quote`)
}

// plain skips characters that textChar would accept, without calling it for each.
func (p *parser) plain() {
	for p.i < len(p.s) && classes[p.s[p.i]]&plainClass != 0 {
		p.i++
	}
}

// textChar reads one character, quoted pair or fold inside a comment or a quoted
// string. Controls, C1 ones too, and bytes that are not UTF-8 are errors. U+FFFD is
// text in a comment only (see Read).
func (p *parser) textChar(inComment bool) error {
	if p.at('\r') {
		return p.fold()
	}
	if p.take('\\') && p.end() {
		return p.expected("a character after the backslash")
	}
	b := p.s[p.i]
	if b < utf8.RuneSelf {
		if b < ' ' && b != '\t' || b == 0x7f {
			return p.expected("text, found a control character")
		}
		p.i++
		return nil
	}
	r, n := utf8.DecodeRuneInString(p.s[p.i:])
	if r == utf8.RuneError && (n == 1 || !inComment) || unicode.IsControl(r) {
		return p.expected("text in UTF-8")
	}
	p.i += n
	return nil
}

// unquote returns the content of a quoted string that p.quoted has read.
func unquote(raw string) string {
	s := unfold(raw[1 : len(raw)-1])
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func unfold(s string) string { return strings.ReplaceAll(s, "\r\n", "") }

// lower folds ASCII letters only, and copies s only if there is a letter to fold.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				b[i] = lowerByte(b[i])
			}
			return string(b)
		}
	}
	return s
}
