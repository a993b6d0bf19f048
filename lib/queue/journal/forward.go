package journal

import (
	"fmt"
	"slices"
	"time"

	"pulse/lib/queue/disk"
	"pulse/lib/shared/audit"
)

// Lines returns a reader of the lines of a time and later that want wants, oldest first,
// as the log is now; nil wants all of them. Committed lines never change, so the reader needs no lock, and may be
// slow while others append.
func (l *Log) Lines(
	since time.Time, want func(raw []byte) bool,
) (func(fn func([]byte, *audit.Line) error) error, error) {
	segments, err := l.Segments()
	if err != nil || len(segments) == 0 {
		return func(func([]byte, *audit.Line) error) error { return nil }, err
	}
	last, err := l.disk.Stat(Dir + "/" + segments[len(segments)-1])
	f := forward{disk: l.disk, since: since, want: want}
	return func(fn func([]byte, *audit.Line) error) error {
		from, err := l.from(segments, since)
		if err != nil {
			return err
		}
		for i := from; i < len(segments); i++ {
			f.end = -1
			if i == len(segments)-1 {
				f.end = last.Size
			}
			if err := f.segment(segments[i], fn); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// Between calls fn for the lines from one place in the log to another.
func (l *Log) Between(from, to Mark, fn func(*audit.Line) error) error {
	if from == to {
		return nil
	}
	segments, err := l.Segments()
	if err != nil {
		return err
	}
	for _, name := range segments {
		if name < from.Segment || name > to.Segment {
			continue
		}
		f := forward{disk: l.disk, end: -1}
		if name == from.Segment {
			f.begin = from.Size
		}
		if name == to.Segment {
			f.end = to.Size
		}
		if err := f.segment(name, func(_ []byte, line *audit.Line) error { return fn(line) }); err != nil {
			return err
		}
	}
	return nil
}

// from returns the first segment that may have lines of a time or later. A commit goes into the
// segment of its month, or into a later one after the clock went back. The day allows for
// commits that began before midnight and were written after it. A clock that is not believed
// begins no segment, so the one before may end with lines of a later month.
func (l *Log) from(segments []string, since time.Time) (int, error) {
	month := since.UTC().AddDate(0, 0, -1).Format("2006-01")
	first := slices.IndexFunc(segments, func(name string) bool { return name >= month })
	if first == 0 {
		return 0, nil
	}
	if first < 0 {
		first = len(segments)
	}
	name, end := Dir+"/"+segments[first-1], l.Size
	switch before := segments[first-1]; {
	case before > l.Segment: // it was begun meanwhile
		return first - 1, nil
	case before < l.Segment:
		st, err := l.disk.Stat(name)
		if err != nil {
			return 0, err
		}
		end = st.Size
	}
	_, err := l.backwards(name, end, &wanted{fn: func(line audit.Line) bool {
		if !line.Time.Before(since) {
			first--
		}
		return false
	}})
	return first, err
}

// forward reads segments, oldest line first.
type forward struct {
	disk  disk.Disk
	since time.Time
	want  func(raw []byte) bool
	begin int64 // offset in the segment
	end   int64 // where the segment ended when the reader was made; below 0: where it ends now
}

func (f *forward) segment(name string, fn func([]byte, *audit.Line) error) error {
	in := Reader{disk: f.disk, name: Dir + "/" + name, off: f.begin}
	for off := f.begin; f.end < 0 || off < f.end; {
		raw, err := in.Next()
		if err != nil || raw == nil {
			return err
		}
		off += int64(len(raw)) + 1
		if f.want != nil && !f.want(raw) || before(raw, f.since) {
			continue
		}
		l, err := audit.Parse(raw)
		if err != nil {
			return fmt.Errorf("%s: byte %d: %w: %w", name, off-int64(len(raw))-1, ErrBroken, err)
		}
		if l.Time.Before(f.since) {
			continue
		}
		if err := fn(raw, &l); err != nil {
			return err
		}
	}
	return nil
}

// before reports whether a line is older than a time, as far as its first member can tell.
func before(raw []byte, t time.Time) bool {
	if t.IsZero() {
		return false
	}
	at := audit.TimeOf(raw)
	return !at.IsZero() && at.Before(t)
}
