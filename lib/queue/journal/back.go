package journal

import (
	"bytes"
	"fmt"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// Back calls fn for the lines of the log before its mark, newest first, until fn returns
// false.
func (l *Log) Back(fn func(audit.Line) bool) error { return l.BackTo(fn) }

// BackTo is Back, except that of lines of other events than those named, if any are, fn is told no more
// than the time and the event.
func (l *Log) BackTo(fn func(audit.Line) bool, events ...task.Event) error {
	w := wanted{fn, events}
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
}

func (l *Log) backwards(name string, end int64, w *wanted) (more bool, err error) {
	var rest []byte // the beginning of the last chunk, which may be the end of a line
	for end > 0 {
		start := max(0, end-chunk)
		b := make([]byte, end-start, int(end-start)+len(rest))
		if _, err := l.disk.ReadAt(name, start, b); err != nil {
			return false, err
		}
		b = append(b, rest...)
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
	for len(b) > 0 {
		b = bytes.TrimSuffix(b, []byte("\n"))
		i := bytes.LastIndexByte(b, '\n') + 1
		line, err := audit.ParseOf(b[i:], w.events...)
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
