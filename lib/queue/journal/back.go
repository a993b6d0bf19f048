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

// BackTo is Back for the lines of some events, or of all if none is named. It does not decode the
// others, which takes most of the time: no string in a line can have the quotes of a member.
func (l *Log) BackTo(fn func(audit.Line) bool, events ...task.Event) error {
	w := wanted{fn: fn, events: events}
	for _, event := range events {
		w.marks = append(w.marks, []byte(member+string(event)+`"`))
	}
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
	marks  [][]byte // what a line of one of them has
}

// member begins the event of a line.
const member = `"event":"`

// passes reports whether a line is one of another event. One without an event is broken, and is
// not passed over.
func (w *wanted) passes(line []byte) bool {
	if len(w.marks) == 0 || !bytes.Contains(line, []byte(member)) {
		return false
	}
	return !slices.ContainsFunc(w.marks, func(mark []byte) bool { return bytes.Contains(line, mark) })
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
		if w.passes(b[i:]) {
			b = b[:i]
			continue
		}
		line, err := audit.Parse(b[i:])
		if err != nil {
			return false, fmt.Errorf("%w: %w", ErrBroken, err)
		}
		if (len(w.events) == 0 || slices.Contains(w.events, line.Event)) && !w.fn(line) {
			return false, nil
		}
		b = b[:i]
	}
	return true, nil
}
