package queue

import (
	"time"

	"pulse/lib/approval"
	"pulse/lib/decision"
	"pulse/lib/task"
)

// Outlook is what a run would make of a scheduled task, were nothing before it.
type Outlook struct {
	Limit    string // the key of the policy that it waits for; empty: none
	Starts   bool   // once no limit is in the way; else it is set aside
	Decision decision.Decision
	Reason   string // what else is wrong than the decision: its approval
}

// Outlook looks at a scheduled task as Next does, and changes nothing.
func (r *Run) Outlook(v View, s *Stored, a *approval.Approval, now time.Time) (o Outlook, err error) {
	o.Decision = r.decide(s)
	o.Starts, o.Reason = r.startable(o.Decision, a, s, now)
	spent, err := r.spent(v, now)
	if err != nil {
		return o, err
	}
	if spent.day >= r.Policy.Limits.MaxPerDay {
		o.Limit = "limits.max_per_day"
		return o, nil
	}
	if soon, err := r.tooSoon(v, s, now); soon || err != nil {
		o.Limit = "outbound.min_reply_interval"
		return o, err
	}
	err = v.Open(func(e Entry) (bool, error) {
		if e.ID != s.Task.ID || e.State != task.Scheduled || !r.overLimit(&e, &spent) {
			return e.ID != s.Task.ID, nil
		}
		o.Limit = "limits.per_sender_per_hour"
		if spent.hour[e.Sender] < r.Policy.Limits.PerSenderPerHour {
			o.Limit = "limits.max_per_day, of which external senders get half"
		}
		return false, nil
	})
	return o, err
}
