package queue

import (
	"errors"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/store"
)

// Outlook says what a run would do with a scheduled task if it came to that task now.
type Outlook struct {
	Limit    string    // the key of the policy that makes it wait; empty: none
	Until    time.Time // when that limit has room again, if nothing else uses it up; zero: not known
	Reader   bool      // it waits for a reader, and not for a worker
	Starts   bool      // it starts once no limit is in the way; otherwise it is set aside
	Unproven bool      // it starts if the yes proves what the policy requires, which a Blind run can't tell
	Decision decision.Decision
	Reason   string // what is wrong besides the decision: its approval, or its session
}

// Outlook weighs a scheduled task as Next does, and changes nothing.
func (r *Run) Outlook(v store.View, s *Stored, now time.Time) (o Outlook, err error) {
	one := *s
	one.Extract = nil // mine says whether it fits
	mine, err := r.mine(v, &one)
	if err != nil {
		return o, err
	}
	w, err := r.weighScheduled(v, &one, now)
	o = Outlook{Reader: !mine, Starts: w.ok, Decision: w.decision.Decision, Reason: w.reason}
	if errors.Is(err, consent.ErrBlind) {
		o.Starts, o.Unproven, o.Reason, err = true, true, "", nil
	}
	if err != nil {
		return o, err
	}
	c, err := PaceOf(v, r.Policy, now)
	if err == nil {
		o.Limit, o.Until = c.Until(s)
	}
	return o, err
}
