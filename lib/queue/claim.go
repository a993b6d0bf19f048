package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/address"
	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/decision"
	"pulse/lib/identity"
	"pulse/lib/policy"
	"pulse/lib/task"
	"pulse/lib/terms"
)

// The reasons of transitions that no decision made.
const (
	ReasonApproved      = "approved"
	ReasonUnknownEffect = "effect_unknown"
	ReasonDied          = "worker_died"
	ReasonExit          = "worker_failed"
	ReasonLater         = "worker_asked_for_later"
	ReasonDone          = "done"
	ReasonExpired       = "review_expired"
	ReasonCorrupt       = "corrupt"
	ReasonApproval      = "approval_not_good" // expired, for other bytes, or of too low a level
)

// Run is one run of the queue: what it looks for and what it has spent.
type Run struct {
	Policy *policy.Policy
	Effect terms.Action // empty: asks
	Max    int          // starts of this run
	Now    func() time.Time

	started, external int
}

// Claim is a task that is about to be started: the transition is made, and its
// approval, if it was an effect that reaches the outside, is spent.
type Claim struct {
	Stored
	Approval *approval.Approval
}

// Next finds the oldest task that may start now, decides on it again and moves it
// to running. It returns nil when there is none, or no start is left. hold is
// called before the task is claimed, and must fail if somebody has it already.
func (r *Run) Next(tx Tx, hold func(id string) error) (*Claim, error) {
	if held, err := tx.Held(); held != nil || err != nil || r.started >= r.Max {
		return nil, err
	}
	now := r.Now().UTC()
	spent, err := r.spent(tx, now)
	if err != nil || spent.day >= r.Policy.Limits.MaxPerDay {
		return nil, err
	}
	var claim *Claim
	err = tx.Scan(task.Scheduled, func(id string) (bool, error) {
		claim, err = r.consider(tx, id, spent, now, hold)
		return claim == nil, err
	})
	if err != nil || claim == nil {
		return nil, err
	}
	r.started++
	if external(claim) {
		r.external++
	}
	return claim, nil
}

func external(c *Claim) bool { return c.Identity.Trust == terms.ExternalVerified }

// half is the share of a cap that external senders may take; of one, it is one.
func half(n int) int { return max(1, n/2) }

// spent is what the log says was started lately.
type spent struct {
	day, externalDay int
	hour             map[string]int // by sender
}

func (r *Run) spent(tx Tx, now time.Time) (spent, error) {
	s := spent{hour: map[string]int{}}
	err := tx.History(func(l audit.Line) bool {
		if now.Sub(l.Time) >= 24*time.Hour {
			return false
		}
		if l.Event != task.Started || l.Kind != r.kind() {
			return true
		}
		s.day++
		if l.Trust == terms.ExternalVerified {
			s.externalDay++
		}
		if now.Sub(l.Time) < time.Hour {
			s.hour[address.Fold(l.Sender)]++
		}
		return true
	})
	return s, err
}

func (r *Run) kind() task.Kind {
	if r.Effect != "" {
		return task.Effect
	}
	return task.Ask
}

// consider claims one task, or leaves it, or puts it where it belongs now.
func (r *Run) consider(tx Tx, id string, spent spent, now time.Time, hold func(string) error) (*Claim, error) {
	s, err := tx.Load(task.Scheduled, id)
	if errors.Is(err, ErrCorrupt) {
		return nil, tx.Move(s.move(task.Broke, task.Corrupt, task.Change{Since: now, Reason: ReasonCorrupt}))
	}
	if err != nil {
		return nil, err
	}
	if !r.wants(&s) || now.Before(s.Task.NotBefore) || r.overLimit(&s, spent) {
		return nil, nil
	}
	a, err := tx.Approval(id)
	if errors.Is(err, ErrCorrupt) {
		a, err = nil, nil // what can't be read is no yes
	}
	if err != nil {
		return nil, err
	}
	d := r.decide(&s)
	change := task.Change{Since: now, Attempts: s.Task.Attempts, Restarts: s.Task.Restarts, Reason: string(d.Reason)}
	if ok, reason := r.startable(d, a, &s, now); !ok {
		if reason != "" {
			change.Reason = reason
		}
		return nil, tx.Move(aside(&s, d, change))
	}
	if err := hold(id); err != nil {
		return nil, err
	}
	line := s.move(task.Started, task.Running, change)
	line.Rule, line.Policy = d.Rule, d.Policy
	if !s.Outward() {
		line.Approval = a // an ask that comes back needs no second yes
	}
	if err := tx.Move(line); err != nil {
		return nil, err
	}
	s.Task.State, s.Task.Change = task.Running, change
	return &Claim{s, a}, nil
}

func (r *Run) wants(s *Stored) bool {
	return s.Kind() == r.kind() && (r.Effect == "" || s.Decision.Action == r.Effect)
}

// overLimit reports whether the sender has had his share for now. Asks of this
// machine's own user are under the common caps only.
func (r *Run) overLimit(s *Stored, spent spent) bool {
	if s.Identity.Trust == terms.System {
		return false
	}
	if s.Identity.Trust == terms.ExternalVerified &&
		(r.external >= half(r.Max) || spent.externalDay >= half(r.Policy.Limits.MaxPerDay)) {
		return true
	}
	return spent.hour[address.Fold(s.Identity.Sender)] >= r.Policy.Limits.PerSenderPerHour
}

// decide decides again, with the policy of this run and the stored record.
func (r *Run) decide(s *Stored) decision.Decision {
	who := s.Identity
	who.Cap(r.Policy)
	in := decision.Input{Identity: &who, Request: s.Request, Policy: r.Policy}
	if s.Message != nil {
		in.Source, in.Recipients = s.Message.Source, identity.Recipients(s.Message)
	}
	return decision.Again(in, s.Decision.Action)
}

// startable reports whether a task may start: the policy allows it, or a person
// did and the policy leaves it to a person. reason is set where the approval is
// what is wrong.
func (r *Run) startable(d decision.Decision, a *approval.Approval, s *Stored, now time.Time) (ok bool, reason string) {
	switch d.Outcome {
	case terms.Allow:
		return true, ""
	case terms.Reject:
		return false, ""
	}
	if a == nil {
		return false, ""
	}
	given := a.Task == s.Task.ID && a.Action == s.Decision.Action && slices.Equal(a.Target, s.Target())
	if !given || a.Good(s.Task.Digest, approval.Level(r.Policy.Approval.Require), now) != nil {
		return false, ReasonApproval
	}
	return true, ""
}

// aside is the line of a task that may not start any more.
func aside(s *Stored, d decision.Decision, change task.Change) audit.Line {
	e, to := task.Parked, task.Awaiting
	if d.Outcome == terms.Reject {
		e, to = task.Dropped, task.Rejected
	}
	line := s.move(e, to, change)
	line.Rule, line.Policy = d.Rule, d.Policy
	return line
}

// Expire rejects what has waited for a person longer than limit.
func Expire(tx Tx, limit time.Duration, now time.Time) error {
	return tx.Scan(task.Awaiting, func(id string) (bool, error) {
		s, err := tx.Load(task.Awaiting, id)
		if errors.Is(err, ErrCorrupt) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if now.Sub(s.Task.Since) < limit {
			// Those behind it may have waited longer since their last transition.
			return now.Sub(s.Task.Created) >= limit, nil
		}
		change := s.Task.Change
		change.Since, change.Reason = now, ReasonExpired
		return true, tx.Move(s.move(task.Expired, task.Rejected, change))
	})
}

// Held returns the sentence that says a queue is held, or the empty string.
func Held(v View) (string, error) {
	l, err := v.Held()
	if l == nil || err != nil {
		return "", err
	}
	if l.Time.IsZero() {
		return "held by a file made by hand", nil
	}
	return fmt.Sprintf("held since %s by %s", l.Time.Format(time.RFC3339), l.By), nil
}
