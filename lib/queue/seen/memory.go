package seen

import (
	"fmt"
	"slices"

	"pulse/lib/shared/audit"
)

// Log is the log of a queue, of which lines are noted.
type Log interface {
	FirstHash() (string, error) // of its first line, "" if there is none
	Find(Mark) (Mark, error)    // the mark of a line as this log has it; the zero Mark: it lacks the line
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
	m.record, m.failed = Open(dir, queue, m.first, log.Find)
}

// Forgetful returns why this account would not notice that the queue lost lines, or nil.
func (m *Memory) Forgetful() error {
	if m.record != nil && m.failed == nil {
		return m.record.Writable()
	}
	return m.failed
}

// Noted is what was noted of a queue at one moment.
type Noted struct {
	marks []Mark
	bad   error // why that is not known
}

// Noted reads what is noted. Whoever looks at a picture of the queue calls it before the
// picture is made, so that no line is missed that came later. Without a lock a mark may be
// read while it is written: hence two readings that agree.
func (m *Memory) Noted() (n Noted) {
	for m.record != nil {
		n.marks, n.bad = m.record.Marks()
		if again, _ := m.record.Marks(); slices.Equal(again, n.marks) {
			break
		}
	}
	return n
}

// Heads returns the hashes of the lines that are noted.
func (n *Noted) Heads() (map[string]bool, error) {
	heads := map[string]bool{}
	for _, k := range n.marks {
		heads[k.Head] = true
	}
	return heads, n.bad
}

// Lost says which line the queue lacks that this account noted; empty: none. If the notes
// can't be read, it says so, because then any line may be missing. If the queue lacks none,
// end is noted, its last line: an account that commits nothing, because nothing is to be
// started, would otherwise take an older copy for the queue that it has read.
func (m *Memory) Lost(n Noted, end Mark) (string, error) {
	if m.record == nil {
		return "", nil
	}
	if n.bad != nil {
		return fmt.Sprintf("what was committed here is not known: %v", n.bad), nil
	}
	lost, newer, err := m.lacking(n.marks, end)
	if lost == "" && err == nil && !newer && end.Size > 0 {
		m.note(n.marks, end)
	}
	return lost, err
}

// lacking says which of the lines the log lacks; empty: none. newer means that one of them
// follows end.
func (m *Memory) lacking(marks []Mark, end Mark) (lost string, newer bool, err error) {
	for _, k := range marks {
		at, err := m.log.Find(k)
		if err != nil {
			return "", false, err
		}
		if at.Head == "" {
			return fmt.Sprintf("it lacks a line that was committed here, %s, %s", audit.Bare(k.Head), k.Place()), false, nil
		}
		newer = newer || at.after(&end)
	}
	return "", newer, nil
}

// note notes the end of lines that are durable, unless that is what was noted last.
func (m *Memory) note(marks []Mark, end Mark) {
	var err error
	if m.first == "" {
		m.first, err = m.log.FirstHash()
	}
	end.First = m.first
	other := func(k Mark) bool { return k != end }
	if err == nil && (len(marks) == 0 || slices.ContainsFunc(marks, other)) {
		err = m.record.Note(end)
	}
	if err != nil {
		m.failed = err // the lines are durable all the same
	}
}

// Note notes the end of lines that are durable. If the queue lacked a line that was noted
// before, that note stays until a person accepts the loss with resume, which logs a line.
func (m *Memory) Note(lines []audit.Line, end Mark) {
	if m.record == nil || len(lines) == 0 {
		return
	}
	accepted := slices.ContainsFunc(lines, func(l audit.Line) bool { return l.Event == audit.Resumed })
	if accepted {
		m.note(nil, end)
	} else if _, err := m.Lost(m.Noted(), end); err != nil {
		m.failed = err
	}
}

// Close closes the files.
func (m *Memory) Close() {
	if m.record != nil {
		m.record.Close()
	}
}
