package message

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errFull ends the extraction: there is as much text as was asked for.
var errFull = errors.New("message: enough text")

// collector takes text and keeps at most limit characters. Line ends become LF. Other
// controls, characters that draw nothing, and blank lines at both ends are dropped. Some
// characters draw nothing and yet are needed: the first one of a run is kept.
type collector struct {
	b       strings.Builder
	n       int // characters in b
	limit   int
	line    bool // everything on one line
	squeeze bool // runs of blanks become one
	doubled bool // there was such a run
	blanks  []byte
	cr      bool // the last rune was a CR
	invalid bool // a byte was not UTF-8
	control bool // a control or a tag character was dropped
	mark    rune // the last character, if marks is true of it
	quote   int  // as often each line begins with a quotation mark
}

const quotation = "> "

// lead puts the quotation marks of a line before its first character, which follows.
func (c *collector) lead() {
	end := bytes.LastIndexByte(c.blanks, '\n')
	if c.quote > 0 && (end >= 0 || c.n == 0) {
		c.blanks = slices.Insert(c.blanks, end+1, []byte(strings.Repeat(quotation, c.quote))...)
	}
}

// rune adds a character. It returns errFull if the character does not fit.
func (c *collector) rune(r rune) error {
	if r == '\n' && c.cr {
		c.cr = false
		return nil
	}
	c.cr = r == '\r'
	switch r {
	case separator:
		r = utf8.RuneError
	case '\r', '\v', '\f', 0x85, 0x2028, 0x2029:
		r = '\n'
	}
	if c.line && (r == '\n' || r == '\t') {
		r = ' '
	}
	switch {
	case r == '\n' || r == '\t' || r == ' ':
		c.mark = 0
		return c.blank(byte(r))
	case unicode.IsControl(r) || 0xe0000 <= r && r <= 0xe007f:
		c.control = true
		return nil
	case invisible(r) || c.repeated(r):
		return nil
	}
	c.lead()
	if c.n+len(c.blanks) >= c.limit {
		return errFull
	}
	c.flush()
	c.b.WriteRune(r)
	c.n++
	return nil
}

// flush adds the blanks that were kept back.
func (c *collector) flush() {
	c.b.Write(c.blanks)
	c.n += len(c.blanks)
	c.blanks = c.blanks[:0]
}

// separator begins the line that names a part of a text. No text has it: where one does, it
// is replaced.
const separator = '\u241d' // SYMBOL FOR GROUP SEPARATOR

// separate begins the nth part of a text.
func (c *collector) separate(n int, kind string) error {
	line := fmt.Appendf(nil, "%c part %d of the text, %s", separator, n, kind)
	if c.n > 0 {
		_ = c.rune('\n')
	}
	if c.n+len(c.blanks)+utf8.RuneCount(line) > c.limit {
		return errFull
	}
	c.flush()
	c.b.Write(line)
	c.n += utf8.RuneCount(line)
	c.blanks, c.cr, c.mark = append(c.blanks, '\n'), false, 0
	return nil
}

// blank keeps a blank back until a character follows. Line ends at the beginning of the
// text, and blanks at the end of a line, are dropped.
func (c *collector) blank(r byte) error {
	if r == '\n' {
		for n := len(c.blanks); n > 0 && c.blanks[n-1] != '\n'; n-- {
			c.blanks = c.blanks[:n-1]
		}
	}
	if c.n == 0 && r == '\n' {
		c.blanks = c.blanks[:0]
		return nil
	}
	if n := len(c.blanks); r != '\n' && n > 0 && c.blanks[n-1] != '\n' {
		if c.doubled = true; c.squeeze {
			return nil
		}
	}
	if c.n+len(c.blanks) < c.limit {
		c.blanks = append(c.blanks, r)
	}
	return nil
}

func (c *collector) String() string {
	if c.line {
		return strings.TrimSpace(c.b.String())
	}
	return c.b.String()
}

// add adds the characters of b, runs of ASCII at once. If more follows, it returns the bytes
// at the end of b that may begin a character.
func (c *collector) add(b []byte, more bool) (rest []byte, err error) {
	for len(b) > 0 {
		room := max(c.limit-c.n-len(c.blanks), 0)
		if n := plainRun(b[:min(len(b), room)]); n > 0 {
			c.lead()
			if n = min(n, c.limit-c.n-len(c.blanks)); n <= 0 {
				return nil, errFull
			}
			c.flush()
			c.b.Write(b[:n])
			c.n += n
			c.cr, c.mark = false, 0
			b = b[n:]
			continue
		}
		r, size := rune(b[0]), 1
		if r >= utf8.RuneSelf {
			if more && !utf8.FullRune(b) {
				return b, nil
			}
			r, size = utf8.DecodeRune(b)
			c.invalid = c.invalid || r == utf8.RuneError && size == 1
		}
		if err := c.rune(r); err != nil {
			return nil, err
		}
		b = b[size:]
	}
	return nil, nil
}

// plainRun returns how many bytes b begins with that are kept as they are: printable ASCII
// that neither begins nor ends with a blank, nor has a run of them.
func plainRun[T []byte | string](b T) int {
	if len(b) == 0 || b[0] == ' ' {
		return 0
	}
	n := 0
	for n < len(b) && b[n]-' ' < 0x7f-' ' && (b[n] != ' ' || b[n-1] != ' ') {
		n++
	}
	for n > 0 && b[n-1] == ' ' {
		n--
	}
	return n
}

// readFrom adds the text of r until its end or errFull.
func (c *collector) readFrom(r io.Reader) error {
	source, ok := r.(chunker)
	if !ok {
		source = &buffered{r: r}
	}
	var cut []byte
	for {
		b, err := source.Chunk()
		if err != nil && err != io.EOF {
			return err
		}
		if len(cut) > 0 {
			b = append(cut, b...)
		}
		rest, full := c.add(b, err == nil)
		if full != nil || err == io.EOF {
			return full
		}
		cut = append([]byte(nil), rest...)
	}
}

// chunker gives its text without a copy. A chunk is valid until the next one.
type chunker interface {
	Chunk() ([]byte, error)
}

// buffered makes a chunker of a reader.
type buffered struct {
	r   io.Reader
	buf [4 << 10]byte
}

func (b *buffered) Chunk() ([]byte, error) {
	n, err := b.r.Read(b.buf[:])
	return b.buf[:n], err
}

// repeated reports whether r is a mark directly after another: a run of them shows nothing,
// and can spell out a message.
func (c *collector) repeated(r rune) bool {
	last := c.mark
	if c.mark = 0; !marks(r) {
		return false
	}
	c.mark = r
	return last != 0 && (last != 0xfe0f || r != 0x200d) // these two make up an emoji
}

// marks reports whether r draws nothing and yet scripts or emoji need it: the two joiners,
// those for direction, and the emoji selector.
func marks(r rune) bool {
	return 0x200c <= r && r <= 0x200f || 0x202a <= r && r <= 0x202e || r == 0xfe0f
}

// invisible reports whether r draws nothing and so serves only to hide: tags and
// variation selectors carry whole messages past a reader.
func invisible(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5,
		r == 0x200b, r == 0x3164, r == 0xfeff, r == 0xffa0:
		return true
	case 0x180b <= r && r <= 0x180f, 0x2060 <= r && r <= 0x206f, 0xfe00 <= r && r <= 0xfe0e,
		0xfff0 <= r && r <= 0xfffb, 0x1bca0 <= r && r <= 0x1bca3, 0x1d173 <= r && r <= 0x1d17a:
		return true
	}
	return 0xe0000 <= r && r <= 0xe0fff
}
