package decode

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/emersion/go-message/charset"

	"pulse/lib/shared/address"
)

// aliases has the names under which mail knows a charset, and package charset does not.
// ISO 8859-1 means Windows-1252 (Encoding §4.2).
var aliases = map[string]string{
	"iso-8859-1": "windows-1252", "iso8859-1": "windows-1252", "iso_8859-1": "windows-1252",
	"latin1": "windows-1252", "l1": "windows-1252",
	"cp932": "shift_jis", "cp949": "euc-kr", "cp950": "big5",
	"utf7": "utf-7", "csutf7": "utf-7", "unicode-1-1-utf-7": "utf-7",
	"utf16": "utf-16", "csutf16": "utf-16", "ucs-2": "utf-16", "iso-10646-ucs-2": "utf-16",
	"unicode": "utf-16", "csunicode": "utf-16", "unicodefeff": "utf-16le", "unicodefffe": "utf-16be",
	"iso-2022-kr": refused, "csiso2022kr": refused, "iso-2022-cn": refused, "iso-2022-cn-ext": refused,
}

// refused is the name of no charset.
const refused = "x-refused"

// Charset returns a reader of UTF-8, and whether the charset is known. Text in an unknown charset is read as ASCII, and
// other bytes become U+FFFD. The charsets that browsers refuse count as unknown, because
// they could hide anything. So does UTF-7 in a browser, but mail has it: it is decoded here,
// before anything looks for markup or controls.
func Charset(name string, r io.Reader) (text io.Reader, known bool) {
	name = address.Fold(strings.Trim(name, " \t\"'"))
	if other, ok := aliases[name]; ok {
		name = other
	}
	switch name {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return r, true
	case "utf-7":
		return newUTF7Reader(r), true
	case "utf-16":
		name, r = byteOrder(r)
	}
	decoded, err := charset.Reader(name, r)
	if err != nil || !strings.HasPrefix(name, "utf-16") && !keepsASCII(name) {
		return asciiReader{r}, false
	}
	return decoded, true
}

// keepsASCII reports whether ASCII stands for itself in a charset that package charset
// knows. In EBCDIC it does not, so a stage that takes the bytes of a name for ASCII would
// miss an address in it.
func keepsASCII(name string) bool {
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || '~' < r }) {
		return false // package charset trims blanks, so one charset would have any number of names
	}
	if keeps, ok := asciiCharsets.Load(name); ok {
		return keeps.(bool)
	}
	const sample = "<a@b>"
	r, err := charset.Reader(name, strings.NewReader(sample))
	if err != nil {
		return false
	}
	b, err := io.ReadAll(r)
	asciiCharsets.Store(name, err == nil && string(b) == sample)
	return err == nil && string(b) == sample
}

// asciiCharsets has the answers of keepsASCII, at most one for each known charset.
var asciiCharsets sync.Map

// Replaced passes text on and notes whether it has U+FFFD, which a charset's decoder writes
// for what it can't read.
type Replaced struct {
	R    io.Reader
	Seen bool

	n int // bytes of a U+FFFD that were just read
}

func (s *Replaced) Read(b []byte) (int, error) {
	const mark = "\ufffd"
	n, err := s.R.Read(b)
	for rest := b[:n]; len(rest) > 0; rest = rest[1:] {
		if s.n == 0 {
			if rest = rest[max(bytes.IndexByte(rest, mark[0]), 0):]; rest[0] != mark[0] {
				break
			}
		}
		switch rest[0] {
		case mark[s.n]:
			s.n++
		case mark[0]:
			s.n = 1
		default:
			s.n = 0
		}
		if s.n == len(mark) {
			s.n, s.Seen = 0, true
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
