package message

import (
	"bytes"
	"io"
	"strings"

	"pulse/lib/shared/encodedword"
	"pulse/lib/shared/envelope"
)

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
// reads at most maxValue bytes.
func (p *parser) decodeWords(value string, limit int) string {
	if n := len(value); n <= limit && plainRun(value) == n && !strings.Contains(value, "=?") {
		return value
	}
	value = strings.TrimLeft(relaxed(value), " \t")
	value = p.words(value[:min(len(value), maxValue)])
	out := collector{limit: limit, line: true}
	_, _ = out.add([]byte(value), false) // what does not fit is not shown
	if out.control {
		p.add(envelope.ControlInText)
	}
	return out.String()
}

// words decodes the encoded words in s. The blanks between two of them are dropped, and a
// letter whose bytes one word begins and the next one ends comes out whole if both are
// UTF-8. A word in which nothing decodes stays as it is.
func (p *parser) words(s string) string {
	if !strings.Contains(s, "=?") {
		return s
	}
	var b strings.Builder
	for adjacent := false; ; {
		before, w, after, ok := encodedword.Cut(s)
		decodes := ok && len(w.Text) > 0
		if !adjacent || !decodes || strings.Trim(before, " \t") != "" {
			b.WriteString(before)
		}
		if !ok {
			return b.String()
		}
		word := s[len(before) : len(s)-len(after)]
		if decodes {
			word = p.word(w)
		}
		b.WriteString(word)
		adjacent, s = decodes, after
	}
}

func (p *parser) word(w encodedword.Word) string {
	r, _ := p.decodeCharset(w.Charset, bytes.NewReader(w.Text))
	text, err := io.ReadAll(r)
	if err != nil {
		p.add(envelope.BrokenEncoding)
	}
	return string(text)
}
