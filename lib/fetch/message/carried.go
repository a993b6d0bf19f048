package message

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/lazy"
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
		if i >= maxOthers || sameKind(text, other) || !p.says(said, whole, other) {
			for _, pt := range other.parts {
				p.left.Add(envelope.LeftAlternative, pt.body)
			}
		}
	}
}

// carried reports whether the body alone says how it is to be read, whatever the header says:
// it is plain text in ASCII or UTF-8 without a transfer encoding, and nothing in it looks like
// HTML or a part, or a multipart that begins with its delimiter and a field of its first part,
// and ends with its close delimiter. Of a multipart that was cut, each part has to begin with
// such a field. No body of one kind can be made to look like one of another by a header that
// was changed.
func (p *parser) carried(root *part) bool {
	switch root.encoding {
	case "", "7bit", "8bit", "binary":
	default:
		return false
	}
	switch kind := root.kind; {
	case kind == "text/plain":
		charset := address.Fold(root.params["charset"])
		return (charset == "" || charset == "us-ascii" || charset == "utf-8") && (root.cut || utf8.Valid(root.body)) &&
			!partBegins(root.body) && !marked(root.body)
	case p.related, kind == "multipart/related" && root.params["start"] != "", // the header chooses what is text
		kind == "multipart/digest", // the header says what the parts are
		!strings.HasPrefix(kind, "multipart/"), root.params["boundary"] == "":
		return false
	}
	delimiter := []byte("--" + root.params["boundary"])
	rest := afterNotice(root.body)
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
		if field := []byte("content-"); (n == 0 || root.cut) && (len(rest) < len(field) || !bytes.EqualFold(rest[:len(field)], field)) {
			return false
		}
	}
}

// partBegins reports whether b has the line of a delimiter before fields, one of which
// describes a part.
func partBegins(b []byte) bool {
	if !bytes.HasPrefix(b, []byte("--")) {
		at := bytes.Index(b, []byte("\n--"))
		if at < 0 {
			return false
		}
		b = b[at+1:]
	}
	return describedPart().Match(b)
}

var describedPart = lazy.Regexp(`(?im)^--.*\n(?:(?:[!-9;-~]+[ \t]*:|[ \t]).*\n)*?content-[a-z-]+[ \t]*:`)

// marked reports whether a text has a tag or a comment of HTML. As plain text it shows what
// no mail program shows of HTML.
func marked(b []byte) bool {
	at := bytes.IndexByte(b, '<')
	if at < 0 {
		return false
	}
	b = b[at:]
	z := html.NewTokenizer(bytes.NewReader(b))
	z.SetMaxBuf(maxTag)
	for {
		switch z.Next() {
		case html.ErrorToken:
			return z.Err() != io.EOF
		case html.CommentToken, html.DoctypeToken:
			return true
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			if name, _ := z.TagName(); atom.Lookup(name) != 0 {
				return true
			}
		}
	}
}

// sameKind reports whether two texts have parts of one kind, as alternatives by people do not:
// such parts may have stood one after another.
func sameKind(a, b texts) bool {
	return slices.ContainsFunc(a.parts, func(pt part) bool {
		return slices.ContainsFunc(b.parts, func(other part) bool { return other.kind == pt.kind })
	})
}

// wordsRead bounds what is compared of a text and its alternative, in characters each.
const wordsRead = MostMaxText

// afterNotice returns a body without its blank first lines, and without the line that mail
// programs put before the first part.
func afterNotice(b []byte) []byte {
	b = bytes.TrimLeft(b, blanks)
	for _, notice := range notices {
		if after, ok := bytes.CutPrefix(b, []byte(notice)); ok {
			return bytes.TrimLeft(after, blanks)
		}
	}
	return b
}

const blanks = " \t\r\n"

// notices are those of Thunderbird and Outlook. They are for readers without MIME, and say
// nothing.
var notices = [...]string{"This is a multi-part message in MIME format.", "This is a multipart message in MIME format."}

// maxOthers is how many alternatives are compared with a text. Mail has one, or two.
const maxOthers = 4

// says reports whether a text, whole or not, has all words of another, in their order, and
// is not much longer. A plain form of HTML has, and in place of its links and pictures it
// has more; but it loses line ends, so that a word may stand in a longer one.
func (p *parser) says(said string, whole bool, other texts) bool {
	want, _ := p.plain(other)
	stream, found := letters(said), 0
	for word := range strings.FieldsFuncSeq(want, isMark) {
		word = strings.ToLower(word)
		at := strings.Index(stream, word)
		if at < 0 && whole {
			return false
		} else if at < 0 {
			break
		}
		stream, found = stream[at+len(word):], found+len(word)
	}
	return len(letters(links().ReplaceAllString(said, ""))) <= 2*found+slack
}

// slack is for a text that is short, in bytes.
const slack = 16

// links are what plain forms have in place of a link or a picture.
var links = lazy.Regexp(`<[^<>]*>|\[[^\[\]]*\]`)

// plain returns the text of parts, as far as it is compared, and whether that is all of it.
func (p *parser) plain(t texts) (string, bool) {
	q, out, whole := p.aside(), collector{limit: wordsRead}, true
	for i := range t.parts {
		whole = q.extract(&out, &t.parts[i]) != errFull && !t.parts[i].cut && whole
		_ = out.rune('\n')
	}
	return out.String(), whole
}

// letters returns the letters and digits of s, in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if isMark(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

func isMark(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
