package queue

import (
	"slices"
	"time"

	"pulse/lib/queue/clock"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// sends are the targets of the messages that count against outbound.min_reply_interval, as one
// log has them by one clock.
type sends struct {
	head  string // of that log
	clock clock.Clock
	list  [][]string // nil: not read yet
}

// tooSoon reports whether a message went to one of an effect's targets less than
// outbound.min_reply_interval ago. A message does not count if its sender says that it was
// not sent.
func (r *Run) tooSoon(v store.View, s *Stored, now time.Time) (soon bool, err error) {
	interval := r.Policy.Outbound.MinReplyInterval
	if !s.Outward() || s.Decision.Action != terms.ExternalSend || interval == 0 {
		return false, nil
	}
	c, err := ClockOf(v, now)
	if err != nil {
		return true, err
	}
	if head := v.Counts().Head; r.sent.list == nil || r.sent.head != head || r.sent.clock != c { // many effects may wait
		list, err := sentWithin(v, interval, &c)
		if err != nil {
			return true, err
		}
		r.sent = sends{head, c, list}
	}
	soon = slices.ContainsFunc(r.sent.list, func(to []string) bool { return meets(to, s.Target(), r.Policy.Outbound.Close) })
	if soon {
		doubts(v, &c)
	}
	return soon, nil
}

// sentWithin returns the targets of the messages of an interval.
func sentWithin(v store.View, interval time.Duration, c *clock.Clock) (list [][]string, err error) {
	restored, ages := map[string]bool{}, c.Ages(true)
	list = [][]string{}
	err = v.Back(func(l audit.Line) bool {
		at := ages.Of(&l)
		switch {
		case ages.Over(at, interval):
			return false
		case restores(&l):
			restored[l.Task] = true
		case l.Event == task.Started && restored[l.Task]:
			delete(restored, l.Task) // the start before that one may have happened
		case l.Event == task.Started && c.Now.Sub(at) < interval:
			list = append(list, l.Target)
		}
		return true
	})
	return list, err
}

// meets reports whether two lists of targets have one in common.
func meets(a, b []string, same approval.Same) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return same(x, y) })
	})
}
