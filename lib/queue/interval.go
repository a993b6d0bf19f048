package queue

import (
	"slices"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// sends are the starts that used up their targets for a while, as one log has them.
type sends struct {
	head string    // of that log
	now  time.Time // when they were read
	list []begin
}

// tooSoon reports whether a message went to one of an effect's targets less than
// outbound.min_reply_interval ago. A message does not count if its sender says that it was
// not sent; it counts if it lies in the future, because the clock went back.
func (r *Run) tooSoon(v View, s *Stored, now time.Time) (soon bool, err error) {
	interval := r.Policy.Outbound.MinReplyInterval
	if !s.Outward() || s.Decision.Action != terms.ExternalSend || interval == 0 {
		return false, nil
	}
	if head := v.Counts().Head; r.sent.now.IsZero() || r.sent.head != head || now.Before(r.sent.now) { // many effects may wait
		if r.sent.list, err = sentSince(v, interval, now); err != nil {
			return false, err
		}
		r.sent.head, r.sent.now = head, now
	}
	to := s.Target()
	return slices.ContainsFunc(r.sent.list, func(st begin) bool {
		return now.Sub(st.Time) < interval && meets(st.target, to, r.Policy.Outbound.Same)
	}), nil
}

// sentSince reads the starts that may have sent something within an interval.
func sentSince(v View, interval time.Duration, now time.Time) (list []begin, err error) {
	restored := map[string]bool{}
	err = v.Back(func(l audit.Line) bool {
		switch {
		case now.Sub(l.Time) >= interval:
			return false
		case restores(&l):
			restored[l.Task] = true
		case l.Event == task.Started && restored[l.Task]:
			delete(restored, l.Task) // the start before that one may have happened
		case l.Event == task.Started && len(l.Target) > 0:
			list = append(list, begin{Start: Start{Time: l.Time}, target: l.Target})
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
