package spool

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"pulse/lib/audit"
	"pulse/lib/queue"
	"pulse/lib/task"
)

// startsFile is the ledger that the limits are reckoned from: a line for each start
// of the last day at least, made from the log as the agenda is.
const startsFile = "starts"

// startsWidth is the width of its lines: seconds, kind, class, sender, task.
const startsWidth = 65

// startsKept is the size from which on it is worth to drop what is old.
const startsKept = 64 << 10

func appendStart(dst []byte, l *audit.Line) []byte {
	e := entryOf(l)
	return fmt.Appendf(dst, "%010d %c %c %-16.16s %s\n", l.Time.Unix(), kindLetter(e.Kind), classLetter(e.External, e.Message), e.Sender, e.ID)
}

func parseStart(b []byte) (st queue.Start, ok bool) {
	if len(b) != startsWidth || b[startsWidth-1] != '\n' {
		return st, false
	}
	s, err := strconv.ParseInt(string(b[:10]), 10, 64)
	st = queue.Start{Time: time.Unix(s, 0).UTC(), Kind: task.Ask, External: b[13] == 'x' || b[13] == 'X', Sender: queue.Key(bytes.TrimRight(b[15:31], " "))}
	if b[11] == 'e' {
		st.Kind = task.Effect
	}
	return st, err == nil
}

// Starts calls fn for the starts of the last queue.Window, and perhaps older ones.
func (v view) Starts(_ time.Time, fn func(queue.Start)) error {
	return lines(v.disk, startsFile, startsWidth, func(_ int64, line []byte) (bool, error) {
		if st, ok := parseStart(line); ok {
			fn(st)
		}
		return true, nil
	})
}

// Starts is that of the view, after those in the future were set to now: the clock
// went back, and they must not count until it has caught up.
func (t *tx) Starts(now time.Time, fn func(queue.Start)) error {
	size := t.Spool.log.starts
	if !t.startAt(size/startsWidth - 1).Time.After(now) {
		return t.view.Starts(now, fn)
	}
	if err := t.trim(now); err != nil {
		return err
	}
	if err := t.Spool.log.checkpoint(); err != nil {
		return err
	}
	return t.view.Starts(now, fn)
}

// record brings the ledger up to lines of the log that it does not know yet.
func (s *Spool) record(log []audit.Line) (changed bool, err error) {
	for i := range log {
		l := &log[i]
		if l.Event != task.Started {
			continue
		}
		if err := s.trim(l.Time); err != nil {
			return false, err
		}
		line := appendStart(nil, l)
		if err := s.disk.WriteAt(startsFile, s.log.starts, line); err != nil {
			return false, err
		}
		s.log.starts += int64(len(line))
		changed = true
	}
	return changed, nil
}

// trim drops starts that are too old to count, once they are the better half. After
// the clock went back it sets those that lie in the future to now: they count for a
// day, and not until the clock has caught up.
func (s *Spool) trim(now time.Time) (err error) {
	n := s.log.starts / startsWidth
	old := func(st queue.Start) bool { return now.Sub(st.Time) >= queue.Window }
	if !s.startAt(n-1).Time.After(now) && (s.log.starts < startsKept || !old(s.startAt(n/2))) {
		return nil
	}
	if err := s.forget(); err != nil {
		return err
	}
	s.log.starts, err = rewrite(s.disk, startsFile, startsWidth, func(line []byte) []byte {
		st, ok := parseStart(line)
		if !ok || old(st) {
			return nil
		}
		if st.Time.After(now) {
			copy(line, fmt.Sprintf("%010d", now.Unix()))
		}
		return line
	})
	return err
}

// startAt returns the nth start, or nothing.
func (s *Spool) startAt(n int64) queue.Start {
	b := make([]byte, startsWidth)
	k, err := s.disk.ReadAt(startsFile, max(n, 0)*startsWidth, b)
	if err != nil {
		return queue.Start{}
	}
	st, _ := parseStart(b[:k])
	return st
}
