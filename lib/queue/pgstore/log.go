package pgstore

import (
	"fmt"
	"math"
	"time"

	"pulse/lib/queue/journal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// A line never changes, so the log is read without a transaction, and what reads for long
// keeps nothing from being cleaned up. A chunk ends after some lines, or some bytes.
const (
	sqlForward = `SELECT seq, line FROM (SELECT seq, line, sum(octet_length(line)) OVER (ORDER BY seq) - octet_length(line) AS before FROM
		(SELECT seq, line FROM pulse.audit WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT 1000) a) b WHERE before < 4194304 ORDER BY seq`
	sqlBackward = `SELECT seq, line FROM (SELECT seq, line, sum(octet_length(line)) OVER (ORDER BY seq DESC) - octet_length(line) AS before FROM
		(SELECT seq, line FROM pulse.audit WHERE seq < $1 ORDER BY seq DESC LIMIT $2) a) b WHERE before < 4194304 ORDER BY seq DESC`
	// Without those of which so many would be more bytes, as hardly any are: the plan is made for each start.
	sqlRecent = `SELECT seq, line FROM (SELECT seq, line FROM pulse.audit WHERE seq < $1 ORDER BY seq DESC LIMIT $2) a
		WHERE octet_length(line) <= 209715 ORDER BY seq DESC`
)

// forward calls fn for the lines after one number up to another.
func (s *Store) forward(from, to int64, fn func(seq int64, raw []byte) error) error {
	for from < to {
		all, err := s.query(say(sqlForward, from, to))
		if err != nil {
			return err
		}
		if len(all[0]) == 0 || num(all[0][0][0]) != from+1 {
			return fmt.Errorf("%w: line %d is missing", journal.ErrBroken, from+1)
		}
		for _, r := range all[0] {
			from = num(r[0])
			if err := fn(from, r[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lines returns a reader of the log as it is now, which may be used after the View.
func (v *view) Lines(since time.Time, want func(raw []byte) bool) (store.Lines, error) {
	from, err := v.before(since)
	s, to := v.Store, v.seq
	return func(fn func([]byte, *audit.Line) error) error {
		return s.forward(from, to, func(seq int64, raw []byte) error {
			if want != nil && !want(raw) || !since.IsZero() && audit.TimeOf(raw).Before(since) {
				return nil
			}
			l, err := audit.Parse(raw)
			if err != nil {
				return fmt.Errorf("line %d: %w: %w", seq, journal.ErrBroken, err)
			}
			return fn(raw, &l)
		})
	}, err
}

// before returns the number of a line so that all lines of a time and later follow it. A
// commit has the time at which its command began, and clocks differ: hence the day.
func (v *view) before(since time.Time) (int64, error) {
	if since.IsZero() {
		return 0, nil
	}
	since = since.AddDate(0, 0, -1)
	low, high := int64(0), v.seq
	for low < high {
		mid := (low + high + 1) / 2
		all, err := v.query(say("SELECT left(line, 48) FROM pulse.audit WHERE seq = $1", mid))
		if err != nil {
			return 0, err
		}
		if len(all[0]) == 1 && audit.TimeOf(all[0][0][0]).Before(since) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low, nil
}

// Back calls fn for the lines of the log, newest first, until fn returns false.
func (v *view) Back(fn func(audit.Line) bool, events ...task.Event) error {
	return v.back(v.seq, math.MaxInt64, fn, events)
}

// History is Back outside of a View. It may take long.
func (s *Store) History(fn func(audit.Line) bool, events ...task.Event) error {
	seq, _, err := s.tip()
	if err != nil {
		return err
	}
	return s.back(seq, seq+1, fn, events)
}

// recent is how many lines are read back first: an Update asks for as many ahead.
const recent = 20

func (s *Store) back(seq, before int64, fn func(audit.Line) bool, events []task.Event) error {
	for sql, n := sqlRecent, int64(recent); seq > 0; sql, n = sqlBackward, min(8*n, chunk) {
		all, err := s.query(say(sql, before, n))
		if err != nil {
			return err
		}
		if len(all[0]) == 0 && n > recent {
			return fmt.Errorf("%w: line %d is missing", journal.ErrBroken, seq)
		}
		for _, r := range all[0] {
			if n == recent && num(r[0]) != seq {
				break // the next chunk has what was left out
			}
			l, err := audit.ParseOf(r[1], events...)
			if err != nil {
				return fmt.Errorf("line %d: %w: %w", seq, journal.ErrBroken, err)
			}
			if !fn(l) {
				return nil
			}
			seq, before = seq-1, seq
		}
	}
	return nil
}

// tip returns the number of the last line, and its hash.
func (s *Store) tip() (int64, string, error) {
	all, err := s.query(say("SELECT seq, head FROM pulse.queue"))
	if err != nil {
		return 0, "", err
	}
	return num(all[0][0][0]), string(all[0][0][1]), nil
}
