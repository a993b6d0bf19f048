package message

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"pulse/lib/shared/envelope"
)

// leaveOut counts what of the body the text does not have as it stands, besides what was
// counted while it was read.
func (p *parser) leaveOut(root part, text texts) {
	if !p.carried(&root) {
		p.left.Add(envelope.LeftRecoded, root.body)
	}
	if len(p.others) == 0 {
		return
	}
	said, whole := p.plain(text)
	for i, other := range p.others {
		if i >= maxOthers || !p.says(said, whole, other) {
			for _, pt := range other.parts {
				p.left.Add(envelope.LeftAlternative, pt.body)
			}
		}
	}
}

// carried reports whether the body alone says how it is to be read, whatever the header says:
// it is plain text in ASCII or UTF-8 without a transfer encoding, or a multipart that begins
// with its delimiter and ends with its close delimiter. Of a multipart that was cut, each
// part has to begin with a field that describes it. No other body can be made to look so by a
// header that was changed: text that happens to hold the line of a delimiter does not also
// begin and end with it.
func (p *parser) carried(root *part) bool {
	switch root.encoding {
	case "", "7bit", "8bit", "binary":
	default:
		return false
	}
	switch kind := root.kind; {
	case kind == "text/plain":
		charset := asciiLower(root.params["charset"])
		return (charset == "" || charset == "us-ascii" || charset == "utf-8") && (root.cut || utf8.Valid(root.body))
	case kind == "multipart/related" && root.params["start"] != "", // the header chooses what is text
		kind == "multipart/digest", // the header says what the parts are
		!strings.HasPrefix(kind, "multipart/"), root.params["boundary"] == "":
		return false
	}
	delimiter := []byte("--" + root.params["boundary"])
	rest := bytes.TrimLeft(root.body, " \t\r\n")
	for n := 0; ; n++ {
		at, next, last := boundary(rest, 0, delimiter)
		switch {
		case at < 0:
			return root.cut && n > 0
		case n == 0 && (at > 0 || last):
			return false
		case last:
			return len(bytes.TrimSpace(rest[next:])) == 0
		}
		rest = rest[next:]
		if field := []byte("content-"); root.cut && (len(rest) < len(field) || !bytes.EqualFold(rest[:len(field)], field)) {
			return false
		}
	}
}

// wordsRead bounds what is compared of a text and its alternative, in characters each.
const wordsRead = MostMaxText

// maxOthers is how many alternatives are compared with a text. Mail has one, or two.
const maxOthers = 4

// says reports whether a text, whole or not, has all words of another, in their order. An HTML form of a
// text has: in place of its links and pictures the plain form has more words, not fewer.
func (p *parser) says(said string, whole bool, other texts) bool {
	want, _ := p.plain(other)
	for word := range wordsOf(want) {
		for {
			next, rest, ok := cutWord(said)
			if said = rest; !ok {
				return !whole
			}
			if strings.EqualFold(next, word) {
				break
			}
		}
	}
	return true
}

// plain returns the text of parts, as far as it is compared, and whether that is all of it.
func (p *parser) plain(t texts) (string, bool) {
	q, out, whole := p.aside(), collector{limit: wordsRead}, true
	for i := range t.parts {
		whole = q.extract(&out, &t.parts[i]) != errFull && !t.parts[i].cut && whole
		_ = out.rune('\n')
	}
	return out.String(), whole
}

func wordsOf(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			word, rest, ok := cutWord(s)
			if s = rest; !ok || !yield(word) {
				return
			}
		}
	}
}

// cutWord returns the first run of letters and digits, and what follows it.
func cutWord(s string) (word, rest string, ok bool) {
	plain := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	i := strings.IndexFunc(s, plain)
	if i < 0 {
		return "", "", false
	}
	s = s[i:]
	if n := strings.IndexFunc(s, func(r rune) bool { return !plain(r) }); n >= 0 {
		return s[:n], s[n:], true
	}
	return s, "", true
}
