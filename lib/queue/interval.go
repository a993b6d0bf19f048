package queue

import (
	"slices"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/terms"
)

// tooSoon reports whether a message went to one of an effect's targets less than
// outbound.min_reply_interval ago. A message does not count if its sender says that it was
// not sent.
func (r *Run) tooSoon(v store.View, s *Stored, now time.Time) (soon bool, err error) {
	interval := r.Policy.Outbound.MinReplyInterval
	if !s.Outward() || s.Decision.Action != terms.ExternalSend || interval == 0 {
		return false, nil
	}
	c, err := r.paceFrom(v, now.Add(-interval), now)
	if err != nil {
		return true, err
	}
	soon = slices.ContainsFunc(c.starts, func(st begin) bool {
		return now.Sub(st.Time) < interval && meets(st.target, s.Target(), r.Policy.Outbound.Close)
	})
	if soon {
		doubts(v, &c.clock)
	}
	return soon, nil
}

// meets reports whether two lists of targets have one in common.
func meets(a, b []string, same approval.Same) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return same(x, y) })
	})
}
