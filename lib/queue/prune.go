package queue

import (
	"fmt"
	"time"

	"pulse/lib/queue/clock"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// Removed counts what was pruned.
type Removed struct {
	Tasks  int
	Edited int // drafts of these tasks that were left, because a person edited them

	Doubted bool // some were left, because the clock is not believed
}

// Older says which tasks that ended are so old that they are pruned.
type Older struct {
	Than time.Duration // since their last transition; 0: all of them
	slow []slow
}

// slow is a time by a clock that was behind: what it dates so was not before high.
type slow struct{ from, to, high time.Time }

// OlderThan returns what is older than limit. If the clock ever went back, it looks through the log
// for what ended while it was behind: that is not as old as it looks.
func OlderThan(s store.Store, limit time.Duration, now time.Time) (o Older, err error) {
	o.Than = limit
	var lines store.Lines
	err = s.View(func(v store.View) error {
		c, err := ClockOf(v, now)
		if now = c.Now; err != nil || limit == 0 || c.Began.IsZero() {
			return err
		}
		lines, err = v.Lines(time.Time{}, store.About(string(audit.ClockJumped)))
		return err
	})
	if err != nil || lines == nil {
		return o, err
	}
	err = lines(func(_ []byte, l *audit.Line) error {
		if l.Event != audit.ClockJumped {
			return nil
		}
		j := clock.JumpOf(l)
		if n := len(o.slow); n > 0 && o.slow[n-1].to.IsZero() {
			o.slow[n-1].to = j.From.Add(clock.MaxBehind) // clocks of machines differ
		}
		if high := j.Reached(); j.Back() && !high.After(now) {
			o.slow = append(o.slow, slow{from: j.To.Add(-clock.MaxBehind), high: high})
		}
		return nil
	})
	return o, err
}

// is reports whether what ended then is so old now.
func (o *Older) is(ended, now time.Time) bool {
	for _, s := range o.slow {
		if !ended.Before(s.from) && (s.to.IsZero() || ended.Before(s.to)) && s.high.After(ended) {
			ended = s.high
		}
	}
	return now.Sub(ended) >= o.Than
}

// Prune removes tasks of a state whose last transition lies so long before now, and their
// drafts, except those that a person edited. It looks at no more than maxMoves of the ids, and
// returns those that it has not looked at. It leaves a file that can't be read to verify. A task
// whose draft nobody has touched is told of first, and is removed by a later command. The ids
// must be in the order of Listed, because the first task made less than that ago ends the
// search. If old is for all, the clock does not count. Otherwise Prune removes none while the clock
// is not believed.
func Prune(
	tx *Tx, st task.State, ids []store.ID, old *Older, by string, now time.Time,
) (done Removed, left []store.ID, err error) {
	c, err := ClockOf(tx, now)
	if err != nil {
		return done, ids, err
	}
	for i, id := range ids[:min(len(ids), maxMoves)] {
		s, err := readable(tx, st, id.String())
		if err != nil {
			return Removed{}, ids[i:], err
		}
		if s == nil {
			continue
		}
		if old.Than > 0 && c.Now.Sub(c.Of(s.Task.Created)) < old.Than {
			return done, nil, nil
		}
		if old.Than > 0 && !old.is(c.Of(s.Task.Since), c.Now) {
			continue
		}
		if done.Doubted = old.Than > 0 && tx.doubts(&c); done.Doubted {
			return done, nil, nil
		}
		told, err := tellDraft(tx, s, now)
		if err != nil {
			return Removed{}, ids[i:], err
		}
		if told || s.Task.Told.Equal(now) {
			continue
		}
		edited, err := s.prune(tx, by, now)
		if err != nil {
			return Removed{}, ids[i:], err
		}
		done.add(edited)
	}
	return done, ids[min(len(ids), maxMoves):], nil
}

// PruneOne removes one task that was completed, rejected or failed, and its draft, except one
// that a person edited. It returns the task as it was; for a task in another state the error is
// ErrState. Nobody is told of the draft first, because a person named the task.
func PruneOne(tx *Tx, id, by string, now time.Time) (s Stored, done Removed, err error) {
	if s, err = Find(tx, id); err != nil {
		return s, done, err
	}
	if task.Legal(task.Pruned, s.Task.State, "") != nil {
		return s, done, fmt.Errorf("%w: task %s is %s", ErrState, id, s.Task.State)
	}
	edited, err := s.prune(tx, by, now)
	done.add(edited)
	return s, done, err
}

func (r *Removed) add(edited bool) {
	if r.Tasks++; edited {
		r.Edited++
	}
}

// prune removes a task, and reports whether a draft that a person edited stays. The digest in
// the line is that of the draft which goes with the task.
func (s *Stored) prune(tx *Tx, by string, now time.Time) (edited bool, err error) {
	line := s.move(task.Pruned, "", task.Change{Since: now.UTC()})
	line.By = by
	lies, wrote, err := draftOf(tx, s)
	if err != nil {
		return false, err
	}
	if wrote != nil {
		line.Result = task.Digest(wrote)
	}
	return lies && wrote == nil, tx.Move(line)
}
