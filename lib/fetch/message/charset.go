package message

import (
	"io"
	"mime"
	"strings"

	"github.com/emersion/go-message/charset"

	"pulse/lib/shared/envelope"
)

// decodeCharset returns a reader of UTF-8. Text in an unknown charset is read as ASCII, and
// other bytes become U+FFFD. UTF-7 and the charsets that browsers refuse count as unknown,
// because they could hide anything. ISO 8859-1 means Windows-1252 (Encoding §4.2).
func (p *parser) decodeCharset(name string, r io.Reader) io.Reader {
	switch name = asciiLower(strings.Trim(name, " \t\"'")); name {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return r
	case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "l1":
		name = "windows-1252"
	case "iso-2022-kr", "csiso2022kr", "iso-2022-cn", "iso-2022-cn-ext", "replacement":
		name = "" // unknown
	}
	decoded, err := charset.Reader(name, r)
	if err != nil {
		p.add(envelope.UnknownCharset)
		return asciiReader{r}
	}
	return decoded
}

// replaced passes text on and notes whether it has U+FFFD, which a charset's decoder writes
// for what it can't read.
type replaced struct {
	r    io.Reader
	n    int // bytes of a U+FFFD that were just read
	seen bool
}

func (s *replaced) Read(b []byte) (int, error) {
	const mark = "\ufffd"
	n, err := s.r.Read(b)
	for _, c := range b[:n] {
		switch {
		case c == mark[s.n]:
			s.n++
		case c == mark[0]:
			s.n = 1
		default:
			s.n = 0
		}
		if s.n == len(mark) {
			s.n, s.seen = 0, true
		}
	}
	return n, err
}

// asciiReader replaces bytes over 127 by 0xFF, which is never valid in UTF-8.
type asciiReader struct{ r io.Reader }

func (a asciiReader) Read(b []byte) (int, error) {
	n, err := a.r.Read(b)
	for i, c := range b[:n] {
		if c > 127 {
			b[i] = 0xff
		}
	}
	return n, err
}

// shown returns the first field of that name, decoded for people (RFC 2047), on one line of
// at most maxShown characters.
func (p *parser) shown(fields []envelope.Field, lower string) string {
	f := find(fields, lower)
	if f == nil {
		return ""
	}
	return p.decodeWords(f.Value, maxShown)
}

// decodeWords decodes encoded words in a value to one line of at most limit characters. It
// reads at most maxValue bytes, because the decoder is quadratic.
func (p *parser) decodeWords(value string, limit int) string {
	value = strings.TrimLeft(unfold(value), " \t")
	value = value[:min(len(value), maxValue)]
	dec := mime.WordDecoder{CharsetReader: func(name string, r io.Reader) (io.Reader, error) {
		return p.decodeCharset(name, r), nil
	}}
	if decoded, err := dec.DecodeHeader(value); err == nil {
		value = decoded
	}
	out := collector{limit: limit, line: true}
	for _, r := range value {
		if out.rune(r) != nil {
			break
		}
	}
	if out.control {
		p.add(envelope.ControlInText)
	}
	return out.String()
}
