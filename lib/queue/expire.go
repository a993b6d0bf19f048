package queue

import (
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
)

// Expire rejects tasks that have waited for a person for too long (policy.Limits.Expiry).
// Nothing expires of which a person was not told once more before: Resurface does that, in
// an earlier Update, and nothing while the clock is not believed. more means that there may be
// more of them, for another Update.
func Expire(tx *Tx, limits *policy.Limits, now time.Time) (more bool, err error) {
	c, err := ClockOf(tx, now)
	if err != nil {
		return false, err
	}
	over := func(since, told time.Time) bool {
		return !told.IsZero() && !c.Now.Before(limits.Expiry(c.Of(since), c.Of(told)))
	}
	return each(tx, task.Awaiting, func(e *store.Entry) (bool, error) {
		if !over(e.Since, e.Told) || tx.doubts(&c) {
			return false, nil
		}
		s, err := readable(tx, task.Awaiting, e.ID)
		if s == nil || err != nil {
			return false, err
		}
		change := s.Task.Change
		if !over(change.Since, change.Told) {
			return false, nil // its file says something else than the index, which has whole seconds
		}
		change.Since, change.Reason = c.Now, reasonExpired
		return true, tx.Move(s.move(task.Expired, task.Rejected, change))
	})
}

// maxMoves is how many tasks one Update moves at most, so that neither its memory nor the
// time for which it keeps the lock grows with the queue.
const maxMoves = 500

// each calls fn for the open tasks of a state, until maxMoves of them have moved.
func each(tx *Tx, st task.State, fn func(*store.Entry) (moved bool, err error)) (more bool, err error) {
	moves := 0
	err = tx.Open(st, func(e store.Entry) (bool, error) {
		moved, err := fn(&e)
		if moved {
			moves++
		}
		more = moves >= maxMoves
		return !more, err
	})
	return more, err
}
