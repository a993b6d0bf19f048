package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pulse/lib/queue/journal"
	"pulse/lib/queue/seen"
	"pulse/lib/shared/audit"
)

// memory is what this account noted about a queue outside the queue. The zero memory notes
// nothing.
type memory struct {
	record *seen.Record
	first  string // hash of the log's first line; empty: not known, or the log is empty
	failed error  // why nothing can be noted
}

// Remember makes the Spool note what it commits, in a directory of this account outside
// the queue, and compare the queue with what was noted before. If it can't, the queue
// works all the same, and Forgetful says why.
func (s *Spool) Remember(dir string) {
	if s.snapshot {
		return
	}
	m := &s.memory
	m.first, _ = s.first() // if it can't be read, what is noted at this path still counts
	m.record, m.failed = seen.Open(dir, s.dir, m.first, s.has)
}

// Forgetful returns why this account would not notice that the queue was restored from a
// copy, or nil.
func (s *Spool) Forgetful() error {
	if r := s.memory.record; r != nil && s.memory.failed == nil {
		return r.Writable()
	}
	return s.memory.failed
}

// first returns the hash of the log's first line, which no other queue has.
func (s *Spool) first() (string, error) {
	segments, err := s.log.Segments()
	if err != nil || len(segments) == 0 {
		return "", err
	}
	in := s.log.NewReader(segments[0], 0)
	line, err := in.Next()
	if err != nil || line == nil {
		return "", err
	}
	return audit.Hash(line), nil
}

// has reports whether a line stands in the log. It reads only that line.
func (s *Spool) has(m seen.Mark) (bool, error) {
	line, err := s.log.LineBefore(m.Segment, m.Size)
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid)
	if gone || errors.Is(err, journal.ErrBroken) || notFile(err) {
		return false, nil
	}
	return err == nil && audit.Hash(line) == m.Head, err
}

// Lost says which line the queue lacks that this account saw committed; empty: none. If
// the notes can't be read, it says so, because then any line may be missing.
func (v view) Lost() (string, error) {
	r := v.memory.record
	if r == nil {
		return "", nil
	}
	for {
		marks, bad := r.Marks()
		lost, err := v.lacking(marks)
		if bad != nil {
			lost = fmt.Sprintf("what was committed here is not known: %v", bad)
		}
		if lost == "" || err != nil {
			return "", err
		}
		// Without the lock a mark may be read while it is written: then a second reading differs.
		if again, _ := r.Marks(); slices.Equal(again, marks) {
			return lost, nil
		}
	}
}

// lacking says which of the lines the log lacks; empty: none.
func (s *Spool) lacking(marks []seen.Mark) (string, error) {
	for _, m := range marks {
		there, err := s.has(m)
		if err != nil {
			return "", err
		}
		if !there {
			return fmt.Sprintf("it lacks a line that was committed here, %s, at the end of byte %d of audit/%s",
				audit.Bare(m.Head), m.Size, m.Segment), nil
		}
	}
	return "", nil
}

// note notes the end of what was committed. If the queue lacks a line that was noted
// before, that note stays until a person accepts the loss with resume, which logs a line.
func (s *Spool) note(lines []audit.Line) {
	m := &s.memory
	if m.record == nil {
		return
	}
	accepted := slices.ContainsFunc(lines, func(l audit.Line) bool { return l.Event == audit.Resumed })
	lost, err := view{s, true}.Lost()
	if err == nil && m.first == "" {
		m.first, err = s.first()
	}
	if err == nil && (lost == "" || accepted) {
		l := &s.log
		err = m.record.Note(seen.Mark{First: m.first, Segment: l.Segment, Size: l.Size, Head: l.Head})
	}
	if err != nil {
		m.failed = err // the lines are committed all the same
	}
}
