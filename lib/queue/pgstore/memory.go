package pgstore

import (
	"fmt"

	"pulse/lib/queue/seen"
	"pulse/lib/shared/audit"
)

// segment stands in a mark for the name of the log's file; its Size is a line's number.
const segment = "audit"

// Remember makes the Store note what it commits, in a directory of this account, and compare
// the queue with what was noted before. If it can't, the queue works all the same, and
// Forgetful says why.
func (s *Store) Remember(dir string) { s.memory.Open(dir, s.name, lines{s}) }

// Forgetful returns why this account would not notice that the server lost lines, or nil.
func (s *Store) Forgetful() error { return s.memory.Forgetful() }

// Lost says which line the queue lacks that this account saw committed; empty: none.
func (v *view) Lost() (string, error) { return v.memory.Lost() }

// lines are the log, as a memory sees it.
type lines struct{ s *Store }

// FirstHash returns the hash of the log's first line, which no other queue has.
func (l lines) FirstHash() (string, error) { return l.hash(1) }

// hash returns the hash of a line, "" if there is none.
func (l lines) hash(seq int64) (string, error) {
	all, err := l.s.query(say("SELECT line FROM pulse.audit WHERE seq = $1", seq))
	if err != nil || len(all[0]) == 0 {
		return "", err
	}
	return audit.Hash(all[0][0][0]), nil
}

// Has reports whether a line stands in the log.
func (l lines) Has(m seen.Mark) (bool, error) {
	if v := l.s.in; v != nil && v.seq == m.Size {
		return v.head == m.Head, nil
	}
	hash, err := l.hash(m.Size)
	return hash == m.Head, err
}

// Place says where the line of a mark stands.
func (l lines) Place(m seen.Mark) string { return fmt.Sprintf("number %d", m.Size) }
