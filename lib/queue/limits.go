package queue

import (
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// usage says how many tasks were started lately, as the limits count them.
type usage struct {
	day, externalDay int
	hour, whole      map[store.Key]int // by sender: in the last hour, and in the day
	last             last              // starts
	ours             bool              // a task that is not from an external sender is due; known only if a cap is 1
}

// usage counts the starts of this kind, by the clock that the queue believes.
func (r *Run) usage(v store.View, now time.Time) (usage, error) {
	used := usage{hour: map[store.Key]int{}, whole: map[store.Key]int{}, last: last{sender: map[store.Key]int{}, half: map[bool]int{}}}
	err := Starts(v, now, func(st store.Start) {
		if st.Kind != r.kind() || now.Sub(st.Time) >= store.Window {
			return
		}
		used.day++
		used.whole[st.Sender]++
		used.last.add(&st)
		if st.External {
			used.externalDay++
		}
		if now.Sub(st.Time) < time.Hour {
			used.hour[st.Sender]++
		}
	})
	if err != nil || r.Max != 1 && r.Policy.Limits.MaxPerDay != 1 {
		return used, err
	}
	err = v.Sift(task.Scheduled, func(e store.Entry) (rest bool, err error) {
		if used.ours || e.External {
			return false, nil
		}
		if !r.due(&e, &used, now) {
			return true, nil
		}
		not, err := r.skips(v, &e)
		if used.ours = !not; not {
			r.pass(e.ID)
		}
		return not, err
	})
	return used, err
}

// half returns the share of a cap that external senders may use. Half of one is one,
// unless a task from another sender is due.
func (u *usage) half(n int) int {
	if n == 1 && u.ours {
		return 0
	}
	return max(1, n/2)
}

// overLimit reports whether the sender has used up its share for now. External senders get
// half of the caps, which include effects on their behalf, and a sender of messages gets
// limits.per_sender_per_hour starts an hour. A standing ask, whose agent is a program, gets both.
func (r *Run) overLimit(e *store.Entry, used *usage) bool {
	limits := &r.Policy.Limits
	if e.External && (r.external >= used.half(r.Max) || used.externalDay >= used.half(limits.MaxPerDay)) {
		return true
	}
	if r.Standing != "" && used.whole[e.Sender] >= used.half(limits.MaxPerDay) {
		return true
	}
	return (e.Message || r.Standing != "") && used.hour[e.Sender] >= limits.PerSenderPerHour
}
