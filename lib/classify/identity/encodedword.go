package identity

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode"

	"pulse/lib/shared/address"
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
		before, word, after, ok := encodedWord(s)
		b.WriteString(before)
		if !ok {
			return b.String(), hides
		}
		text := word.ascii()
		hides = hides || strings.ContainsAny(text, "@<>") || strings.IndexFunc(text, unicode.IsControl) >= 0
		b.WriteString(text)
		s = after
	}
}

// encoded is an encoded word: its charset in lower case, without a language (RFC 2231
// §5), and its bytes.
type encoded struct {
	charset string
	text    []byte
}

// encodedWord cuts s around its first encoded word.
func encodedWord(s string) (before string, w encoded, after string, ok bool) {
	for from := 0; ; {
		i := strings.Index(s[from:], "=?")
		if i < 0 {
			return s, w, "", false
		}
		i += from
		charset, rest, _ := strings.Cut(s[i+2:], "?")
		how, rest, _ := strings.Cut(rest, "?")
		text, after, closed := strings.Cut(rest, "?=")
		if !closed || len(how) != 1 || strings.IndexByte("bBqQ", how[0]) < 0 {
			from = i + 2
			continue
		}
		charset, _, _ = strings.Cut(address.Fold(charset), "*")
		w = encoded{charset, unquoted(text)}
		if how == "b" || how == "B" {
			w.text = unbase64(text)
		}
		return s[:i], w, after, true
	}
}

// unbase64 skips bytes outside the alphabet, and decodes as much of an incomplete end
// as it can.
func unbase64(s string) []byte {
	s = strings.Map(func(r rune) rune {
		if r == '+' || r == '/' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' {
			return r
		}
		return -1
	}, s)
	b, _ := base64.RawStdEncoding.DecodeString(s[:len(s)-len(s)%4])
	rest, _ := base64.RawStdEncoding.DecodeString(s[len(s)-len(s)%4:])
	return append(b, rest...)
}

// unquoted decodes the Q encoding; anything but =XX stands for itself.
func unquoted(s string) []byte {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '=' && i+2 < len(s) {
			if c, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b = append(b, c...)
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return []byte(strings.ReplaceAll(string(b), "_", " "))
}

// ascii returns the bytes that stand for ASCII, or all of the text if it is UTF-8. In
// nearly all charsets in use a byte below 0x80 is ASCII, whatever surrounds it.
func (w *encoded) ascii() string {
	switch {
	case strings.Contains(w.charset, "utf-7"):
		return "@" // anything may stand in it
	case strings.HasPrefix(w.charset, "iso-2022-"):
		return shifted(w.text)
	case w.charset == "utf-8" || w.charset == "utf8":
		return string(w.text)
	}
	var b strings.Builder
	for i, c := range w.text {
		if c < 0x80 && !(c == '@' && i > 0 && trails(w.charset, w.text[i-1])) {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// trails reports whether an @ after the byte lead can be the second half of a letter.
// In no charset can a bracket or a control be one.
func trails(charset string, lead byte) bool {
	switch charset {
	case "shift_jis", "sjis", "x-sjis", "windows-31j", "cp932":
		return 0x81 <= lead && lead < 0xa0 || 0xe0 <= lead && lead < 0xfd
	case "gbk", "gb2312", "gb18030", "cp936", "big5", "big5-hkscs", "cp950":
		return 0x81 <= lead && lead < 0xff
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
