package spool

import (
	"errors"
	"io/fs"

	"pulse/lib/queue/journal"
	"pulse/lib/queue/seen"
	"pulse/lib/shared/audit"
)

// Remember makes the Spool note what it commits, in a directory of this account outside
// the queue, and compare the queue with what was noted before. If it can't, the queue
// works all the same, and Forgetful says why.
func (s *Spool) Remember(dir string) {
	if !s.snapshot {
		s.memory.Open(dir, s.dir, lines{s})
	}
}

// Forgetful returns why this account would not notice that the queue was restored from a
// copy, or nil.
func (s *Spool) Forgetful() error { return s.memory.Forgetful() }

// Lost says which line the queue lacks that this account saw committed; empty: none.
func (v view) Lost() (string, error) { return v.memory.Lost(v.memory.Noted(), v.last()) }

// last returns the mark of the last line.
func (s *Spool) last() seen.Mark {
	return seen.Mark{Segment: s.log.Segment, Size: s.log.Size, Head: s.log.Head}
}

// lines are the log, as a memory sees it.
type lines struct{ s *Spool }

// FirstHash returns the hash of the log's first line, which no other queue has.
func (l lines) FirstHash() (string, error) {
	segments, err := l.s.log.Segments()
	if err != nil || len(segments) == 0 {
		return "", err
	}
	in := l.s.log.NewReader(segments[0], 0)
	line, err := in.Next()
	if err != nil || line == nil {
		return "", err
	}
	return audit.Hash(line), nil
}

// Find returns the mark of a line as the log has it. It reads only that line, unless the mark
// was noted when the queue was in a database.
func (l lines) Find(m seen.Mark) (seen.Mark, error) {
	if m.Segment == seen.Table {
		return l.search(m)
	}
	line, err := l.s.log.LineBefore(m.Segment, m.Size)
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid)
	if gone || errors.Is(err, journal.ErrBroken) || notFile(err) || err == nil && audit.Hash(line) != m.Head {
		return seen.Mark{}, nil
	}
	return m, err
}

// search looks for a line by its hash alone.
func (l lines) search(m seen.Mark) (seen.Mark, error) {
	segments, err := l.s.log.Segments()
	for _, name := range segments {
		m.Segment, m.Size = name, 0
		for in := l.s.log.NewReader(name, 0); err == nil; {
			var line []byte
			if line, err = in.Next(); line == nil {
				break
			}
			if m.Size += int64(len(line)) + 1; audit.Hash(line) == m.Head {
				return m, nil
			}
		}
	}
	return seen.Mark{}, err
}
