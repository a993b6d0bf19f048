package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"pulse/lib/fetch/message"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/fault"
)

// Mbox reads the messages of an mbox file (RFC 4155), in the order of the file, which is
// the order of delivery. Quoted ">From " lines are restored as in mboxrd. Many writers
// quote none (Dovecot's delivery agent). A body can then hold a whole message with a
// verdict in it, so each message has the defect mbox unless Quoted is set.
type Mbox struct {
	Path   string
	Window int64 // bytes of the body that are wanted
	Quoted bool  // the program that writes the file quotes each From_ line in a message
}

// OpenMbox checks that the file exists.
func OpenMbox(path string, window int64, quoted bool) (*Mbox, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s: is a directory", path)
	}
	if err != nil {
		return nil, fault.Usagef("", "mbox: %w", err)
	}
	return &Mbox{path, window, quoted}, nil
}

// Each implements Source.
func (s *Mbox) Each(ctx context.Context, yield func(*Message) error) error {
	f, err := openQuietly(s.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	box := newMboxReader(f, beginning(s.Window))
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := Message{Source: "mbox:" + s.Path}
		if !s.Quoted {
			m.Defect = envelope.FromMbox
		}
		err := box.next(&m)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("mbox:%s: %w", s.Path, err)
		}
		if err := yield(&m); err != nil {
			return err
		}
	}
}

// errNotMbox reports a file that does not begin like an mbox.
var errNotMbox = errors.New("not an mbox: the first line does not begin with \"From \"")

// mboxReader splits a stream. It keeps limit bytes of a message and counts the
// rest, however long a message or a line is.
type mboxReader struct {
	r     *bufio.Reader
	limit int64

	from    []byte // the From_ line of the message to come
	buf     []byte
	size    int64
	begin   bool // the next piece begins a line
	blank   int  // bytes of the blank line that was just read
	inBody  bool
	started bool
}

func newMboxReader(r io.Reader, limit int64) *mboxReader {
	return &mboxReader{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// next reads the next message into m, or returns io.EOF.
func (b *mboxReader) next(m *Message) error {
	if err := b.start(); err != nil {
		return err
	}
	m.Received = fromDate(string(b.from))
	b.from, b.buf, b.size, b.blank, b.inBody = nil, b.buf[:0], 0, 0, false
	for b.from == nil {
		piece, err := b.piece()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		b.take(piece)
	}
	// The blank line before a From_ line or the end belongs to the mbox.
	b.size -= int64(b.blank)
	b.buf = b.buf[:min(int64(len(b.buf)), b.size)]
	m.Raw = message.Raw{Header: b.buf, Size: b.size, Partial: int64(len(b.buf)) < b.size}
	return nil
}

// start finds the first From_ line.
func (b *mboxReader) start() error {
	if b.started {
		if b.from == nil {
			return io.EOF
		}
		return nil
	}
	b.started, b.begin = true, true
	for {
		piece, err := b.piece()
		switch {
		case err != nil:
			return err
		case message.FromLine(piece):
			b.keepFrom(piece)
			return nil
		case len(bytes.TrimRight(piece, "\r\n")) > 0:
			return errNotMbox
		}
	}
}

// piece returns the next line, or as much of a long one as fits the buffer.
func (b *mboxReader) piece() ([]byte, error) {
	piece, err := b.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull || err == io.EOF && len(piece) > 0 {
		err = nil
	}
	return piece, err
}

func (b *mboxReader) keepFrom(piece []byte) {
	b.from = append([]byte{}, bytes.TrimRight(piece[:min(len(piece), 998)], "\r\n")...)
	b.begin = piece[len(piece)-1] == '\n'
}

// take adds a piece to the message, or ends it at a From_ line that follows a blank line.
func (b *mboxReader) take(piece []byte) {
	whole := piece[len(piece)-1] == '\n'
	begin := b.begin
	if b.begin = whole; !begin {
		b.keep(piece)
		b.blank = 0
		return
	}
	if message.FromLine(piece) && (b.blank > 0 || b.size == 0) {
		b.keepFrom(piece)
		return
	}
	b.blank = 0
	if len(bytes.TrimRight(piece, "\r\n")) == 0 {
		b.blank, b.inBody = len(piece), true
	}
	if b.inBody && piece[0] == '>' && bytes.HasPrefix(bytes.TrimLeft(piece, ">"), []byte("From ")) {
		piece = piece[1:]
	}
	b.keep(piece)
}

func (b *mboxReader) keep(piece []byte) {
	b.size += int64(len(piece))
	piece = piece[:min(int64(len(piece)), b.limit-int64(len(b.buf)))]
	if n := len(b.buf) + len(piece); n > cap(b.buf) && n > 1<<20 {
		// All of it at once: doubling would hold the message twice.
		b.buf = append(make([]byte, 0, b.limit), b.buf...)
	}
	b.buf = append(b.buf, piece...)
}

// fromDates are the forms of date that programs write at the end of a From_ line. A date
// without a zone is taken for UTC.
var fromDates = []string{
	"Mon Jan 2 15:04:05 2006", "Mon Jan 2 15:04:05 2006 -0700", "Mon Jan 2 15:04:05 -0700 2006",
	"Mon Jan 2 15:04:05 MST 2006", "Mon Jan 2 15:04 2006", time.RFC3339,
}

// fromDate returns the date of a From_ line, or the zero time.
func fromDate(line string) time.Time {
	words := strings.Fields(line)
	for n := 6; n >= 1; n-- {
		if len(words) < n+1 {
			continue
		}
		date := strings.Join(words[len(words)-n:], " ")
		for _, layout := range fromDates {
			if t, err := time.Parse(layout, date); err == nil && t.Year() > 1900 && t.Year() < 9999 {
				return t.UTC()
			}
		}
	}
	return time.Time{}
}
