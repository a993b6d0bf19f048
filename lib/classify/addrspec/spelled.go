package addrspec

import (
	"strings"
	"unicode"

	"pulse/lib/shared/encodedword"
)

// spelled returns a display name or a comment as people may see it. Every encoded word
// (RFC 2047) is decoded, also inside quotes, where the standard allows none, and as
// leniently as in any mail program. hides reports whether an encoded word holds, or may
// hold, an @, an angle bracket or a control. Letters other than ASCII may come out wrong.
func spelled(s string) (shown string, hides bool) {
	if !strings.Contains(s, "=?") {
		return s, false
	}
	var b strings.Builder
	for {
		before, word, after, ok := encodedword.Cut(s)
		b.WriteString(before)
		if !ok {
			return b.String(), hides
		}
		text := ascii(word)
		hides = hides || strings.ContainsAny(text, "@<>") || strings.IndexFunc(text, unicode.IsControl) >= 0
		b.WriteString(text)
		s = after
	}
}

// ascii returns the bytes that stand for ASCII, or all of the text if it is UTF-8. In
// nearly all charsets in use a byte below 0x80 is ASCII, whatever surrounds it.
func ascii(w encodedword.Word) string {
	switch {
	case strings.Contains(w.Charset, "utf-7"), strings.Contains(w.Charset, "utf7"):
		return "@" // anything may stand in it
	case strings.HasPrefix(w.Charset, "iso-2022-"):
		return shifted(w.Text)
	case w.Charset == "utf-8" || w.Charset == "utf8":
		return string(w.Text)
	}
	var b strings.Builder
	for i := 0; i < len(w.Text); i++ {
		switch c := w.Text[i]; {
		case c < 0x80:
			b.WriteByte(c)
		case i+1 < len(w.Text) && (w.Text[i+1] == '@' || w.Text[i+1] >= 0x80) && leads(w.Charset, c):
			i++ // a letter of two bytes
		}
	}
	return b.String()
}

// leads reports whether the byte c can begin a letter of two bytes, the second of which may
// be an @. In no charset can a bracket or a control be one.
func leads(charset string, c byte) bool {
	switch charset {
	case "shift_jis", "sjis", "x-sjis", "windows-31j", "cp932":
		return 0x81 <= c && c < 0xa0 || 0xe0 <= c && c < 0xfd
	case "gbk", "gb2312", "gb18030", "cp936", "big5", "big5-hkscs", "cp950":
		return 0x81 <= c && c < 0xff
	}
	return false
}

// shifted returns the ASCII parts of a text that changes its charset by escape
// sequences (ISO-2022-JP, RFC 1468).
func shifted(text []byte) string {
	var b strings.Builder
	double := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == 0x1b && i+2 < len(text) && (text[i+1] == '$' || text[i+1] == '('):
			double = text[i+1] == '$'
			i += 2
			if double && text[i] == '(' {
				i++
			}
		case !double:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
