package queue

import (
	"errors"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// maxTargets bounds the tasks of which a Limiter reads to whom they are sent.
const maxTargets = 2000

// Limiter says of scheduled tasks which limit keeps them waiting. There may be a hundred thousand:
// it works out once what all tasks of a sender share.
type Limiter struct {
	pace   *Pace
	shared map[share]wait
	read   int // tasks
}

// share is what a task has in common with others as far as limits are concerned, unless it is sent.
type share struct {
	kind              task.Kind
	external, message bool
	sender            store.Key
}

type wait struct {
	limit string
	until time.Time
}

// LimiterOf returns a Limiter that knows the limits which keep tasks waiting now, or did so within a
// time before. A day of that is the most it reads.
func LimiterOf(v store.View, p *policy.Policy, within time.Duration, now time.Time) (*Limiter, error) {
	back := max(store.Window, p.Outbound.MinReplyInterval) + min(within, store.Window)
	pace, err := paceOf(v, p, now.Add(-back), now)
	return &Limiter{pace: pace, shared: map[share]wait{}}, err
}

// Last returns the limit that kept a scheduled task from starting until last, and that time: it lies
// ahead if the limit still does. limit is empty if none did.
func (l *Limiter) Last(v store.View, e *store.Entry) (limit string, until time.Time, err error) {
	k := share{kind: e.Kind, external: e.External, message: e.Message, sender: e.Sender}
	w, known := l.shared[k]
	if !known {
		w = l.pace.last(l.pace.delaysOf(e, nil))
		l.shared[k] = w
	}
	if e.Kind != task.Effect || e.Action != terms.ExternalSend || l.read >= maxTargets {
		return w.limit, w.until, nil
	}
	l.read++
	s, err := LoadUnlabelled(v, e.State, e.ID)
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCorrupt) {
		return w.limit, w.until, nil // verify says so
	}
	if err == nil {
		w = l.pace.last(l.pace.delays(&s))
	}
	return w.limit, w.until, err
}

// last returns, of the delays that have begun, the one that ends last.
func (c *Pace) last(all []delay) (w wait) {
	for _, d := range all {
		if !c.now.Before(d.from) && d.to.After(w.until) {
			w = wait{d.limit, d.to}
		}
	}
	return w
}
