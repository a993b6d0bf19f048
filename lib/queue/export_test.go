package queue

import (
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/task"
)

// The bounds that tests reach.
const (
	MaxMoves      = maxMoves
	MaxBudget     = maxBudget
	MaxKeptRecord = maxKeptRecord
	MaxKeptBytes  = maxKeptBytes
)

// Spent returns what the start of a task spent.
func (c *Claim) Spent() []approval.Proof { return c.spent }

// Limit returns the key of the policy by which a run would let a scheduled task wait, or the empty
// string. It goes by what the run goes by, and not by a Pace.
func (r *Run) Limit(v store.View, s *Stored, now time.Time) (key string, err error) {
	used, err := r.usage(v, now)
	if err != nil {
		return "", err
	}
	if used.day >= r.Policy.Limits.MaxPerDay {
		return limitDay, nil
	}
	if soon, err := r.tooSoon(v, s, now); soon || err != nil {
		return limitReply, err
	}
	err = v.Open("", func(e store.Entry) (bool, error) {
		if e.ID != s.Task.ID || e.State != task.Scheduled || !r.overLimit(&e, &used) {
			return e.ID != s.Task.ID, nil
		}
		key = LimitSender
		if used.hour[e.Sender] < r.Policy.Limits.PerSenderPerHour {
			key = limitExternal
		}
		return false, nil
	})
	return key, err
}
