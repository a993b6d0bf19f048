package journal

import (
	"bytes"
	"fmt"
	"slices"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// Back calls fn for the lines of the log before its mark, newest first, until fn returns
// false.
func (l *Log) Back(fn func(audit.Line) bool) error { return l.BackTo(fn) }

// BackTo is Back, except that of lines of other events than those named, if any are, fn is told no more
// than the time and the event.
func (l *Log) BackTo(fn func(audit.Line) bool, events ...task.Event) error {
	w := wanted{fn: fn, events: events}
	segments, err := l.Segments()
	if err != nil {
		return err
	}
	for i := len(segments) - 1; i >= 0; i-- {
		end := l.Size
		switch {
		case segments[i] > l.Segment:
			continue
		case segments[i] < l.Segment:
			st, err := l.disk.Stat(Dir + "/" + segments[i])
			if err != nil {
				return err
			}
			end = st.Size
		}
		if more, err := l.backwards(Dir+"/"+segments[i], end, &w); err != nil || !more {
			return err
		}
	}
	return nil
}

// wanted are lines of some events.
type wanted struct {
	fn     func(audit.Line) bool
	events []task.Event
	starts []int // of the lines of a chunk
}

// least is how many bytes are read first: most who read backwards want the last line.
const least = 4 << 10

func (l *Log) backwards(name string, end int64, w *wanted) (more bool, err error) {
	var b, rest []byte // rest is the beginning of the last chunk, which may be the end of a line
	for size := int64(least); end > 0; size = min(4*size, chunk) {
		start := max(0, end-size)
		n, all := int(end-start), int(end-start)+len(rest)
		if cap(b) < all {
			b = make([]byte, all, all+least) // the next chunk has another rest
		}
		b = b[:all]
		copy(b[n:], rest) // they may lie in the same memory
		if got, err := l.disk.ReadAt(name, start, b[:n]); err != nil {
			return false, err
		} else if got < n {
			return false, fmt.Errorf("%w: %s is shorter than it was", ErrBroken, name)
		}
		first := 0
		if start > 0 {
			first = bytes.IndexByte(b, '\n') + 1
		}
		rest, end = b[:first], start
		if more, err := eachBackwards(b[first:], w); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// eachBackwards goes through whole lines, the last one first.
func eachBackwards(b []byte, w *wanted) (more bool, err error) {
	w.starts = w.starts[:0]
	for i, n := 0, 0; i < len(b) && n >= 0; i += n + 1 { // to look for the ends backwards takes ten times as long
		w.starts, n = append(w.starts, i), bytes.IndexByte(b[i:], '\n')
	}
	for _, i := range slices.Backward(w.starts) {
		line, err := audit.ParseOf(bytes.TrimSuffix(b[i:], []byte("\n")), w.events...)
		if err != nil {
			return false, fmt.Errorf("%w: %w", ErrBroken, err)
		}
		if !w.fn(line) {
			return false, nil
		}
		b = b[:i]
	}
	return true, nil
}
