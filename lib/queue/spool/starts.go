package spool

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pulse/lib/queue/clock"
	"pulse/lib/queue/entry"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// starts is the index from which the limits are counted. It has a line for each start of
// the last day at least, with the time in seconds, kind and class, sender and task.
var starts = index(startsFile, 64)

const startsFile = "starts"

// startsKept is the size in bytes from which it is worth dropping old lines.
const startsKept = 64 << 10

func appendStart(dst []byte, l *audit.Line) []byte {
	e := store.EntryOf(l)
	return fmt.Appendf(dst, "%010d %c%c %-16.16s %-32.32s\n",
		entry.Seconds(l.Time), entry.KindLetter(e.Kind), entry.ClassLetter(e.External, e.Message), e.Sender, e.ID)
}

// parseStart reads a line. Only a line that it understands whole is ok.
func parseStart(b []byte) (st store.Start, ok bool) {
	if len(b) != starts.Width || b[starts.Width-1] != '\n' {
		return st, false
	}
	line := string(b) // the only allocation: every start of a task reads all of them
	s, err := strconv.ParseUint(line[:10], 10, 64)
	st = store.Start{
		Time: time.Unix(int64(s), 0).UTC(), Kind: task.Ask, External: b[12] == 'x' || b[12] == 'X',
		Sender: store.Key(strings.TrimRight(line[14:30], " ")),
	}
	if b[11] == 'e' {
		st.Kind = task.Effect
	}
	return st, err == nil && task.ValidID(line[31:63]) && (b[11] == 'e' || b[11] == 'a') && strings.IndexByte("xXm-", b[12]) >= 0 &&
		b[10] == ' ' && b[13] == ' ' && b[30] == ' ' && strings.IndexFunc(line[14:30], notHex) < 0
}

func notHex(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') && r != ' ' }

// Starts calls fn for the starts of the last store.Window, and perhaps older ones. If it
// can't read one of them, what the limits leave is not known: that is an error, and
// nothing starts.
func (v view) Starts(now time.Time, fn func(store.Start)) error {
	err := starts.Each(v.disk, func(off int64, line []byte) (bool, error) {
		st, ok := parseStart(line)
		if !ok {
			file := escape.Shell(filepath.Join(v.dir, startsFile))
			return false, fault.Failedf("rm "+file+", and the next command makes it anew from the audit log",
				"%s: byte %d: not a line of a start: the limits can't be reckoned", startsFile, off)
		}
		if entry.Seconds(st.Time) == entry.Latest && now.After(st.Time) {
			st.Time = now // or later: a line can't hold a later time
		}
		fn(st)
		return true, nil
	})
	return err
}

// indexStarts adds to the file lines of the log that it does not know yet.
func (s *Spool) indexStarts(lines []audit.Line) error {
	for i := range lines {
		l := &lines[i]
		if j := clock.JumpOf(l); l.Event == audit.ClockJumped && j.Back() {
			if err := s.keepStarts(func(st store.Start) bool { return entry.Seconds(st.Time) <= entry.Seconds(l.Time) }); err != nil {
				return err
			}
		}
		if l.Event != task.Started {
			continue
		}
		if err := s.trim(l.Time); err != nil {
			return err
		}
		line := appendStart(nil, l)
		if err := s.disk.WriteAt(startsFile, s.log.starts, line); err != nil {
			return err
		}
		s.log.starts += int64(len(line))
	}
	return nil
}

// trim drops starts that are too old to count, once they are at least half of a large
// file. A clock that is wrong may drop some that are not, and those that lie ahead of a clock that
// went back are dropped: for a day after a jump of the clock, starts are counted from the log.
func (s *Spool) trim(now time.Time) error {
	n, at := s.log.starts/int64(starts.Width), entry.Seconds(now)
	const day = int64(store.Window / time.Second)
	old := func(st store.Start) bool { return at-entry.Seconds(st.Time) >= day }
	if s.log.starts < startsKept || !old(s.startAt(n/2)) {
		return nil
	}
	return s.keepStarts(func(st store.Start) bool { return !old(st) })
}

// keepStarts drops the starts that are not to be kept.
func (s *Spool) keepStarts(keep func(store.Start) bool) (err error) {
	if s.log.starts == 0 {
		return nil
	}
	if err := s.forget(); err != nil {
		return err
	}
	s.log.starts, err = starts.Rewrite(s.disk, func(line []byte) []byte {
		st, ok := parseStart(line)
		if !ok || !keep(st) {
			return nil
		}
		return line
	})
	return err
}

// startAt returns the nth start, or an empty one if there is none.
func (s *Spool) startAt(n int64) store.Start {
	line, _ := starts.At(s.disk, n*int64(starts.Width))
	st, _ := parseStart(line)
	return st
}
