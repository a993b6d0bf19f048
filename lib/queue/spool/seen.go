package spool

import (
	"errors"
	"fmt"
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
func (v view) Lost() (string, error) { return v.memory.Lost() }

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

// Has reports whether a line stands in the log. It reads only that line.
func (l lines) Has(m seen.Mark) (bool, error) {
	line, err := l.s.log.LineBefore(m.Segment, m.Size)
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid)
	if gone || errors.Is(err, journal.ErrBroken) || notFile(err) {
		return false, nil
	}
	return err == nil && audit.Hash(line) == m.Head, err
}

// Place says where the line of a mark ends.
func (l lines) Place(m seen.Mark) string {
	return fmt.Sprintf("at the end of byte %d of audit/%s", m.Size, m.Segment)
}
