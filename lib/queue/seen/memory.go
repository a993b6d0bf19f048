package seen

import (
	"fmt"
	"slices"

	"pulse/lib/shared/audit"
)

// Log is the log of a queue, of which lines are noted.
type Log interface {
	FirstHash() (string, error) // of its first line, "" if there is none
	Has(Mark) (bool, error)     // whether a line stands in it
	Place(Mark) string          // where that line would end, in words
}

// Memory is what this account noted about a queue. The zero Memory notes nothing.
type Memory struct {
	log    Log
	record *Record
	first  string // hash of the log's first line; empty: not known, or the log is empty
	failed error  // why nothing can be noted
}

// Open makes the Memory note lines of a queue in a directory. If it can't, Forgetful says why.
func (m *Memory) Open(dir, queue string, log Log) {
	m.log = log
	m.first, _ = log.FirstHash() // if it can't be read, what is noted under this name still counts
	m.record, m.failed = Open(dir, queue, m.first, log.Has)
}

// Forgetful returns why this account would not notice that the queue lost lines, or nil.
func (m *Memory) Forgetful() error {
	if m.record != nil && m.failed == nil {
		return m.record.Writable()
	}
	return m.failed
}

// Lost says which line the queue lacks that this account saw committed; empty: none. If the
// notes can't be read, it says so, because then any line may be missing.
func (m *Memory) Lost() (string, error) {
	if m.record == nil {
		return "", nil
	}
	for {
		marks, bad := m.record.Marks()
		lost, err := m.lacking(marks)
		if bad != nil {
			lost = fmt.Sprintf("what was committed here is not known: %v", bad)
		}
		if lost == "" || err != nil {
			return "", err
		}
		// Without a lock a mark may be read while it is written: then a second reading differs.
		if again, _ := m.record.Marks(); slices.Equal(again, marks) {
			return lost, nil
		}
	}
}

// lacking says which of the lines the log lacks; empty: none.
func (m *Memory) lacking(marks []Mark) (string, error) {
	for _, k := range marks {
		there, err := m.log.Has(k)
		if err != nil {
			return "", err
		}
		if !there {
			return fmt.Sprintf("it lacks a line that was committed here, %s, %s", audit.Bare(k.Head), m.log.Place(k)), nil
		}
	}
	return "", nil
}

// Note notes the end of lines that are durable. If the queue lacked a line that was noted
// before, that note stays until a person accepts the loss with resume, which logs a line.
func (m *Memory) Note(lines []audit.Line, end Mark) {
	if m.record == nil || len(lines) == 0 {
		return
	}
	accepted := slices.ContainsFunc(lines, func(l audit.Line) bool { return l.Event == audit.Resumed })
	lost, err := m.Lost()
	if err == nil && m.first == "" {
		m.first, err = m.log.FirstHash()
	}
	if end.First = m.first; err == nil && (lost == "" || accepted) {
		err = m.record.Note(end)
	}
	if err != nil {
		m.failed = err // the lines are committed all the same
	}
}

// Close closes the files.
func (m *Memory) Close() {
	if m.record != nil {
		m.record.Close()
	}
}
