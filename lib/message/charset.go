package message

import (
	"io"
	"mime"
	"strings"

	"github.com/emersion/go-message/charset"

	"pulse/lib/envelope"
)

// decodeCharset returns a reader of UTF-8. Text in a charset that nobody knows is
// read as ASCII, other bytes becoming U+FFFD; so is UTF-7, which could hide
// anything.
func (p *parser) decodeCharset(name string, r io.Reader) io.Reader {
	switch name = asciiLower(strings.Trim(name, " \t\"'")); name {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return r
	}
	decoded, err := charset.Reader(name, r)
	if err != nil {
		p.add(envelope.UnknownCharset)
		return asciiReader{r}
	}
	return decoded
}

// asciiReader makes bytes over 127 invalid in UTF-8 too: 0xFF never occurs there.
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

// shown returns the first field of that name decoded for people (RFC 2047), on one
// line, at most maxShown characters.
func (p *parser) shown(fields []envelope.Field, lower string) string {
	f := find(fields, lower)
	if f == nil {
		return ""
	}
	return p.decodeWords(f.Value, maxShown)
}

// decodeWords decodes encoded words in a value to one line of at most limit
// characters. No more than 8 KiB are looked at: the decoder is quadratic.
func (p *parser) decodeWords(value string, limit int) string {
	value = strings.TrimLeft(unfold(value), " \t")
	value = value[:min(len(value), 8<<10)]
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
	return out.String()
}
