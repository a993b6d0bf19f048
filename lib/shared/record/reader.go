package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// DefaultMax is the default limit of a line's length in bytes, newline excluded.
const DefaultMax = 4 << 20

const firstBuffer = 128 << 10

// Reader reads records from JSON Lines.
type Reader struct {
	r     io.Reader
	name  string
	max   int
	buf   []byte
	start int // where the first unread byte stands in buf
	seen  int // bytes from start on that are known to hold no newline
	line  int
	scan  scanner
	rec   Record
	err   error
}

// NewReader reads lines of at most max bytes from r; name stands for r in errors
// ("stdin"). reads names the members that the caller will Get.
func NewReader(r io.Reader, name string, max int, reads ...string) *Reader {
	return &Reader{r: r, name: name, max: max, scan: scanner{reads: reads}, rec: Record{pairs: make([]place, 0, usualInner)}}
}

// Next returns the next record. It returns io.EOF at the end, a *lineError for a bad
// record, or the error of the input's Read. After an error it returns the same error
// again, because nothing is read after a bad record. Blank lines are skipped.
func (r *Reader) Next() (*Record, error) {
	for r.err == nil {
		line, err := r.nextLine()
		if err != nil {
			r.err = err
			break
		}
		r.line++
		if blank(line) {
			continue
		}
		if err := r.scan.line(line, &r.rec); err != nil {
			r.err = &lineError{r.name, r.line, err, inOneLine(line)}
			break
		}
		r.rec.name, r.rec.line = r.name, r.line
		return &r.rec, nil
	}
	return nil, r.err
}

func blank(line []byte) bool {
	return len(bytes.Trim(line, " \t\r")) == 0
}

// nextLine returns the next line without its newline. The last line needs no newline: no
// proper prefix of an object is an object, so an incomplete line can't pass for whole.
func (r *Reader) nextLine() ([]byte, error) {
	for {
		rest := r.buf[r.start:]
		if i := bytes.IndexByte(rest[r.seen:], '\n'); i >= 0 {
			line := rest[:r.seen+i]
			r.start += len(line) + 1
			r.seen = 0
			return r.bounded(line)
		}
		r.seen = len(rest)
		if r.seen > r.max {
			return r.bounded(rest)
		}
		if err := r.fill(); err != nil {
			if errors.Is(err, io.EOF) && r.seen > 0 {
				rest = r.buf[r.start:] // fill moved it
				r.start += r.seen
				r.seen = 0
				return r.bounded(rest)
			}
			return nil, err
		}
	}
}

func (r *Reader) bounded(line []byte) ([]byte, error) {
	if len(line) > r.max {
		return nil, &lineError{r.name, r.line + 1, fmt.Errorf("%w of %d bytes (--max-record)", errTooLong, r.max), ""}
	}
	return line, nil
}

// fill makes room and reads more bytes after the unread ones.
func (r *Reader) fill() error {
	if r.start > 0 {
		n := copy(r.buf, r.buf[r.start:])
		r.buf, r.start = r.buf[:n], 0
	}
	if len(r.buf) == cap(r.buf) {
		size := min(max(firstBuffer, 2*cap(r.buf)), max(firstBuffer, r.max+1))
		r.buf = append(make([]byte, 0, size), r.buf...)
	}
	for range 100 {
		n, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if n > 0 || err == io.EOF {
			if n > 0 {
				return nil
			}
			return io.EOF
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return fmt.Errorf("%s: %w", r.name, io.ErrNoProgress)
}
