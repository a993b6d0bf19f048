package pgstore

import (
	"pulse/lib/queue/seen"
	"pulse/lib/shared/audit"
)

// Remember makes the Store note what it commits, in a directory of this account, and compare
// the queue with what was noted before. If it can't, the queue works all the same, and
// Forgetful says why.
func (s *Store) Remember(dir string) { s.memory.Open(dir, s.name, lines{s}) }

// Forgetful returns why this account would not notice that the server lost lines, or nil.
func (s *Store) Forgetful() error { return s.memory.Forgetful() }

// Lost says which line the queue lacks that this account saw committed; empty: none.
func (v *view) Lost() (string, error) {
	return v.memory.Lost(v.noted, seen.Mark{Segment: seen.Table, Size: v.seq, Head: v.head})
}

// lines are the log, as a memory sees it.
type lines struct{ s *Store }

// FirstHash returns the hash of the log's first line, which no other queue has.
func (l lines) FirstHash() (string, error) {
	first, err := l.s.first, error(nil)
	if first == "" {
		if first, err = l.hash(1); err == nil {
			l.s.first = first
		}
	}
	return first, err
}

// hash returns the hash of a line, "" if there is none.
func (l lines) hash(seq int64) (string, error) {
	all, err := l.s.query(say("SELECT line FROM pulse.audit WHERE seq = $1", seq))
	if err != nil || len(all[0]) == 0 {
		return "", err
	}
	return audit.Hash(all[0][0][0]), nil
}

// sqlByHash computes what the next line has as its prev.
const sqlByHash = `SELECT seq FROM pulse.audit
	WHERE pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(line, 'UTF8')), 'hex') = $1 ORDER BY seq DESC LIMIT 1`

// Find returns the mark of a line as the log has it. A mark that was noted when the queue was
// in a directory names a file, so the line is looked for by its hash alone.
func (l lines) Find(m seen.Mark) (seen.Mark, error) {
	if m.Segment != seen.Table {
		all, err := l.s.query(say(sqlByHash, audit.Bare(m.Head)))
		if err != nil || len(all[0]) == 0 {
			return seen.Mark{}, err
		}
		m.Segment, m.Size = seen.Table, num(all[0][0][0])
		return m, nil
	}
	hash, err := "", error(nil)
	if v := l.s.in; v != nil && v.seq == m.Size {
		hash = v.head
	} else {
		hash, err = l.hash(m.Size)
	}
	if err != nil || hash != m.Head {
		return seen.Mark{}, err
	}
	return m, nil
}
