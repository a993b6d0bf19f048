package pgstore

import (
	"fmt"
	"slices"

	"pulse/lib/queue/seen"
	"pulse/lib/shared/audit"
)

// memory is what this account noted about a queue outside the server. The zero memory notes
// nothing.
type memory struct {
	record *seen.Record
	first  string // hash of the log's first line; empty: not known, or the log is empty
	failed error  // why nothing can be noted
}

// segment stands in a mark for the name of the log's file; its Size is a line's number.
const segment = "audit"

// Remember makes the Store note what it commits, in a directory of this account, and compare
// the queue with what was noted before. If it can't, the queue works all the same, and
// Forgetful says why.
func (s *Store) Remember(dir string) {
	m := &s.memory
	m.first, _ = s.hash(1) // if it can't be read, what is noted under this name still counts
	m.record, m.failed = seen.Open(dir, s.name, m.first, s.has)
}

// Forgetful returns why this account would not notice that the server lost lines, or nil.
func (s *Store) Forgetful() error {
	if r := s.memory.record; r != nil && s.memory.failed == nil {
		return r.Writable()
	}
	return s.memory.failed
}

// hash returns the hash of a line, "" if there is none.
func (s *Store) hash(seq int64) (string, error) {
	all, err := s.query(say("SELECT line FROM pulse.audit WHERE seq = $1", seq))
	if err != nil || len(all[0]) == 0 {
		return "", err
	}
	return audit.Hash(all[0][0][0]), nil
}

// has reports whether a line stands in the log.
func (s *Store) has(m seen.Mark) (bool, error) {
	if v := s.in; v != nil && v.seq == m.Size {
		return v.head == m.Head, nil
	}
	hash, err := s.hash(m.Size)
	return hash == m.Head, err
}

// Lost says which line the queue lacks that this account saw committed; empty: none. If the
// notes can't be read, it says so, because then any line may be missing.
func (v *view) Lost() (string, error) {
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
		if again, _ := r.Marks(); slices.Equal(again, marks) { // not read while it was written
			return lost, nil
		}
	}
}

// lacking says which of the lines the log lacks; empty: none.
func (s *Store) lacking(marks []seen.Mark) (string, error) {
	for _, m := range marks {
		there, err := s.has(m)
		if err != nil {
			return "", err
		}
		if !there {
			return fmt.Sprintf("it lacks a line that was committed here, %s, number %d", audit.Bare(m.Head), m.Size), nil
		}
	}
	return "", nil
}

// note notes the end of what was committed. If the queue lacked a line that was noted before,
// that note stays until a person accepts the loss, which logs a line.
func (s *Store) note(v *view, lines []audit.Line, end tail) {
	m := &s.memory
	if m.record == nil || len(lines) == 0 {
		return
	}
	accepted := slices.ContainsFunc(lines, func(l audit.Line) bool { return l.Event == audit.Resumed })
	lost, err := v.Lost()
	if err == nil && m.first == "" {
		m.first, err = s.hash(1)
	}
	if err == nil && (lost == "" || accepted) {
		err = m.record.Note(seen.Mark{First: m.first, Segment: segment, Size: end.seq, Head: end.head})
	}
	if err != nil {
		m.failed = err // the lines are committed all the same
	}
}
