package queue

import (
	"slices"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// tooSoon reports whether a message went to one of an effect's targets less than
// outbound.min_reply_interval ago. A message does not count if its sender says that it was
// not sent.
func (r *Run) tooSoon(v View, s *Stored, now time.Time) (soon bool, err error) {
	interval := r.Policy.Outbound.MinReplyInterval
	if !s.Outward() || s.Decision.Action != terms.ExternalSend || interval == 0 {
		return false, nil
	}
	c, err := ClockOf(v, now)
	if err != nil {
		return true, err
	}
	defer func() {
		if soon {
			doubts(v, &c)
		}
	}()
	restored, ages := map[string]bool{}, c.ages(true)
	err = v.Back(func(l audit.Line) bool {
		at := ages.Of(&l)
		switch {
		case ages.over(at, interval):
			return false
		case restores(&l):
			restored[l.Task] = true
		case l.Event == task.Started:
			if restored[l.Task] {
				delete(restored, l.Task) // the start before that one may have happened
			} else {
				soon = c.Now.Sub(at) < interval && meets(l.Target, s.Target(), r.Policy.Outbound.Same)
			}
		}
		return !soon
	})
	return soon, err
}

// meets reports whether two lists of targets have one in common.
func meets(a, b []string, same approval.Same) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return same(x, y) })
	})
}
