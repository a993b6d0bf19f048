package journal

import (
	"bytes"
	"fmt"

	"pulse/lib/queue/disk"
)

// Reader reads a file line by line. Its memory is bounded by the longest line.
type Reader struct {
	disk disk.Disk
	name string
	off  int64  // offset in the file of the end of buf
	buf  []byte // what was read and not returned yet, at the end of
	mem  []byte // what is used for each read
	size int    // of the last read, in bytes
	eof  bool
}

// maxLine is the longest line that is read, in bytes. A record has at most 64 MiB.
const maxLine = 130 << 20

// chunk is how many bytes of the log are read at a time, unless a line is longer.
const chunk = 256 << 10

// Next returns the next whole line without its newline, or nil at the end, even if half a
// line stands there. The line is good until the next call.
func (r *Reader) Next() ([]byte, error) {
	for {
		if line, rest, whole := bytes.Cut(r.buf, []byte("\n")); whole {
			r.buf = rest
			return line, nil
		}
		if r.eof {
			return nil, nil
		}
		if len(r.buf) > maxLine {
			return nil, fmt.Errorf("%s: %w: a line of more than %d bytes", r.name, ErrBroken, maxLine)
		}
		// Reads grow with a long line, so that it is not copied for each chunk.
		r.size = min(max(4<<10, 4*r.size), max(chunk, len(r.buf)))
		need := len(r.buf) + r.size
		if cap(r.mem) < need {
			r.mem = make([]byte, need, need+least) // the next read follows another rest of a line
		}
		b := r.mem[:need]
		n, err := r.disk.ReadAt(r.name, r.off, b[copy(b, r.buf):])
		if err != nil {
			return nil, err
		}
		r.buf, r.off, r.eof = b[:len(r.buf)+n], r.off+int64(n), n < r.size
	}
}

// Torn reports, once Next returned nil, whether half a line stands at the end.
func (r *Reader) Torn() bool { return len(r.buf) > 0 }

// NewReader returns a reader of a segment from an offset on.
func (l *Log) NewReader(segment string, off int64) *Reader {
	return &Reader{disk: l.disk, name: Dir + "/" + segment, off: off}
}

// LineBefore returns the line of the segment that ends at end, without its newline.
func (l *Log) LineBefore(segment string, end int64) ([]byte, error) {
	for back := int64(4 << 10); ; back *= 4 {
		start := max(0, end-back)
		b := make([]byte, end-start)
		n, err := l.disk.ReadAt(Dir+"/"+segment, start, b)
		if err != nil {
			return nil, err
		}
		line, whole := bytes.CutSuffix(b[:n], []byte("\n"))
		if n < len(b) || !whole {
			return nil, fmt.Errorf("%w: audit/%s is shorter than it was", ErrBroken, segment)
		}
		if i := bytes.LastIndexByte(line, '\n'); i >= 0 || start == 0 {
			return line[i+1:], nil
		}
	}
}
