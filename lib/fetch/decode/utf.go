package decode

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// sampleUTF16 is how many bytes tell the byte order of UTF-16.
const sampleUTF16 = 512

// byteOrder returns the charset of UTF-16 text whose label does not say its byte order, and
// a reader of the text without its mark. If there is no mark, the order is that in which
// more of the first characters are ASCII. If neither has more, it is that of the Encoding
// Standard (§14.4), in which programs write it, and not that of RFC 2781 §4.3.
func byteOrder(r io.Reader) (string, io.Reader) {
	br := bufio.NewReaderSize(r, sampleUTF16)
	b, _ := br.Peek(sampleUTF16)
	big, little := 0, 0
	switch {
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		big, b = 1, b[:2]
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		little, b = 1, b[:2]
	}
	if big+little > 0 {
		_, _ = br.Discard(len(b))
		b = nil
	}
	for ; len(b) > 1; b = b[2:] {
		if b[0] == 0 && plainASCII(b[1]) {
			big++
		}
		if b[1] == 0 && plainASCII(b[0]) {
			little++
		}
	}
	if big > little {
		return "utf-16be", br
	}
	return "utf-16le", br
}

// plainASCII reports whether text has the character c.
func plainASCII(c byte) bool {
	return ' ' <= c && c < 0x7f || c == '\t' || c == '\r' || c == '\n'
}

// utf7Reader decodes UTF-7 (RFC 2152) as leniently as mail programs do: every ASCII
// character except + stands for itself outside base64. What does not decode becomes U+FFFD.
type utf7Reader struct {
	r       io.ByteReader
	out     []byte // decoded and not yet read
	shifted bool   // in base64
	empty   bool   // nothing of this base64 was read yet
	bits    uint32 // those of base64 that make no unit yet
	n       int    // how many these are
	high    rune   // half of a surrogate pair, or 0
	err     error
}

func newUTF7Reader(r io.Reader) *utf7Reader { return &utf7Reader{r: bufio.NewReader(r)} }

func (u *utf7Reader) Read(p []byte) (int, error) {
	for u.err == nil && len(u.out) < len(p) {
		u.step()
	}
	n := copy(p, u.out)
	u.out = append(u.out[:0], u.out[n:]...)
	if n == 0 {
		return 0, u.err
	}
	return n, nil
}

// step decodes one byte.
func (u *utf7Reader) step() {
	var c byte
	if c, u.err = u.r.ReadByte(); u.err != nil {
		u.unshift()
		return
	}
	v, ok := base64Value(c)
	switch {
	case u.shifted && ok:
		u.sextet(v)
	case u.shifted && c == '-' && u.empty:
		u.shifted = false
		u.put('+')
	default:
		was := u.shifted
		if u.unshift(); !was || c != '-' {
			u.direct(c)
		}
	}
}

// direct takes a byte outside base64.
func (u *utf7Reader) direct(c byte) {
	switch {
	case c == '+':
		u.shifted, u.empty = true, true
	case c < utf8.RuneSelf:
		u.put(rune(c))
	default:
		u.put(utf8.RuneError)
	}
}

// sextet takes six bits of base64, which is UTF-16.
func (u *utf7Reader) sextet(v byte) {
	u.empty = false
	u.bits, u.n = u.bits<<6|uint32(v), u.n+6
	if u.n < 16 {
		return
	}
	u.n -= 16
	unit := rune(u.bits >> u.n)
	u.bits &= 1<<u.n - 1
	if u.high == 0 && utf16.IsSurrogate(unit) {
		u.high = unit
		return
	}
	if u.high != 0 {
		pair := utf16.DecodeRune(u.high, unit)
		u.high = 0
		u.put(pair)
		if pair != utf8.RuneError || utf16.IsSurrogate(unit) {
			return
		}
	}
	u.put(unit)
}

// unshift ends base64 if it was begun. What is left of it may be padding only: fewer than
// six bits, all of them zero.
func (u *utf7Reader) unshift() {
	if u.shifted && (u.empty || u.high != 0 || u.n >= 6 || u.bits != 0) {
		u.put(utf8.RuneError)
	}
	u.shifted, u.bits, u.n, u.high = false, 0, 0, 0
}

func (u *utf7Reader) put(r rune) { u.out = utf8.AppendRune(u.out, r) }

// base64Value returns the six bits for which c stands.
func base64Value(c byte) (byte, bool) {
	switch {
	case 'A' <= c && c <= 'Z':
		return c - 'A', true
	case 'a' <= c && c <= 'z':
		return c - 'a' + 26, true
	case '0' <= c && c <= '9':
		return c - '0' + 52, true
	case c == '+':
		return 62, true
	}
	return 63, c == '/'
}
