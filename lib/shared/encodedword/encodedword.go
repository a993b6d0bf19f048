// Package encodedword finds the encoded words of a header field (RFC 2047) and undoes their
// encoding. pulse-fetch shows them to people and pulse-classify looks for what they hide,
// so both read them here: what one decodes, the other has seen.
//
// Invariant: linear time, and as lenient as any mail program: a word may stand anywhere,
// also inside quotes, and need not decode cleanly. Caveat: the text of a Word is in its
// charset. It is bytes that a stranger chose, with line ends and controls among them.
package encodedword

import (
	"encoding/base64"
	"strings"

	"pulse/lib/shared/address"
)

// Word is an encoded word: its charset in lower case, without a language (RFC 2231 §5),
// and its bytes.
type Word struct {
	Charset string
	Text    []byte
}

// Cut cuts s around its first encoded word. If there is none, before is s.
func Cut(s string) (before string, w Word, after string, ok bool) {
	for from := 0; ; {
		i := strings.Index(s[from:], "=?")
		if i < 0 {
			return s, w, "", false
		}
		i += from
		charset, rest, _ := strings.Cut(s[i+2:], "?")
		how, rest, _ := strings.Cut(rest, "?")
		if len(how) != 1 || strings.IndexByte("bBqQ", how[0]) < 0 {
			from = i + 2
			continue
		}
		text, after, closed := strings.Cut(rest, "?=")
		if !closed { // nor is any word after it
			return s, w, "", false
		}
		charset, _, _ = strings.Cut(address.Fold(charset), "*")
		w = Word{charset, unquoted(text)}
		if how == "b" || how == "B" {
			w.Text = unbase64(text)
		}
		return s[:i], w, after, true
	}
}

// unbase64 skips bytes outside the alphabet, and decodes as much of an incomplete end as it
// can. Padding ends a run of bytes, wherever it stands and however much of it there is.
func unbase64(s string) (text []byte) {
	for run := range strings.SplitSeq(s, "=") {
		run = strings.Map(alphabet, run)
		whole := len(run) - len(run)%4
		b, _ := base64.RawStdEncoding.DecodeString(run[:whole])
		rest, _ := base64.RawStdEncoding.DecodeString(run[whole:])
		text = append(append(text, b...), rest...)
	}
	return text
}

// alphabet returns r if it is base64, or -1.
func alphabet(r rune) rune {
	if r == '+' || r == '/' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
		return r
	}
	return -1
}

// unquoted decodes the Q encoding; anything but =XX and _ stands for itself.
func unquoted(s string) []byte {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '_':
			c = ' '
		case c == '=' && i+2 < len(s) && Unhex(s[i+1]) < 16 && Unhex(s[i+2]) < 16:
			c = Unhex(s[i+1])<<4 | Unhex(s[i+2])
			i += 2
		}
		b = append(b, c)
	}
	return b
}

// Unhex returns the value of a hexadecimal digit, or 16.
func Unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}
