package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/decision"
	"pulse/lib/task"
	"pulse/lib/terms"
)

// Signed is where signatures are checked, and what was signed is spent, out of reach
// of who can write the queue.
type Signed interface {
	// Check returns nil if all of it is proven, and may be spent. An error that is not
	// ErrNotGood says that nobody can tell.
	Check(proofs []approval.Proof, now time.Time) error
	// Spend makes sure, durably, that Check fails from now on.
	Spend(proofs []approval.Proof, now time.Time) error
	// Return takes that back.
	Return(proofs []approval.Proof, now time.Time) error
}

// ErrNotGood is the class of an approval, a grant or a session that can't be used.
var ErrNotGood = errors.New("the approval is not good")

// Proving is what a policy requires of a yes, and what proves it.
type Proving struct {
	Require approval.Level
	Signed  Signed              // for level signature; nil: nothing is signed well
	Vouch   func(uid int) error // for level user: nil if this account may say yes
}

// yes is what a person said yes with: an approval, a grant or a session.
type yes interface {
	Suffices(require approval.Level) bool
	Sound(now time.Time) error
}

// proven returns nil if a yes proves what the policy requires, ErrNotGood if not, and
// any other error if nobody can tell. What the yes says of its level is no proof.
// holder is who alone can have written it.
func (p *Proving) proven(y yes, holder int, proofs []approval.Proof, now time.Time) error {
	if !y.Suffices(p.Require) {
		return fmt.Errorf("%w: the policy requires %s", ErrNotGood, p.Require)
	}
	switch p.Require {
	case approval.User:
		if p.Vouch == nil || holder == 0 {
			return fmt.Errorf("%w: nobody vouches for it", ErrNotGood)
		}
		if err := p.Vouch(holder); err != nil {
			return fmt.Errorf("%w: %w", ErrNotGood, err)
		}
	case approval.Signature:
		if p.Signed == nil {
			return fmt.Errorf("%w: nobody checks signatures here", ErrNotGood)
		}
		if err := y.Sound(now); err != nil {
			return fmt.Errorf("%w: %w", ErrNotGood, err)
		}
		return p.Signed.Check(proofs, now)
	}
	return nil
}

// spends returns what a use of a yes spends: nothing, where the policy requires no
// signature.
func (p *Proving) spends(proofs []approval.Proof) []approval.Proof {
	if p.Require != approval.Signature {
		return nil
	}
	return proofs
}

func (p *Proving) spend(proofs []approval.Proof, now time.Time) error {
	if len(proofs) == 0 {
		return nil
	}
	return p.Signed.Spend(proofs, now)
}

func (r *Run) proving() *Proving {
	return &Proving{approval.Level(r.Policy.Approval.Require), r.Signed, r.Vouch}
}

// prove returns what the start of a task spends. ErrNotGood says that it is not proven
// what the start needs, and reason in which words to tell.
func (r *Run) prove(v View, s *Stored, d decision.Decision, a *approval.Approval, now time.Time) (spends []approval.Proof, reason string, err error) {
	p := r.proving()
	switch {
	case !s.free(d, a):
		spends, err = p.approved(s, d, a, now)
		return spends, ReasonApproval, err
	case s.inSession() && p.Require == approval.Signature:
		spends, err = p.within(v, s, r.Policy.Limits.MaxRestarts, now)
		return spends, ReasonSessionSpent, err
	}
	return nil, "", nil
}

// approved proves an approval, as it must be for the task file as it is.
func (p *Proving) approved(s *Stored, d decision.Decision, a *approval.Approval, now time.Time) ([]approval.Proof, error) {
	anew := *a
	anew.Task, anew.Digest, anew.Action, anew.Target = s.Task.ID, s.Task.Digest, s.Decision.Action, s.Target()
	if len(anew.Grants) > 0 {
		if err := covers(s, d, anew.Grants); err != nil {
			return nil, err
		}
	}
	proofs := anew.Proofs()
	return p.spends(proofs), p.proven(&anew, anew.Holder, proofs, now)
}

// Return gives back what the start of a task spent, once the task is scheduled again:
// its worker said that nothing happened, or that it failed.
func (r *Run) Return(c *Claim, end *audit.Line) error {
	if len(c.spent) == 0 || end.To != task.Scheduled {
		return nil
	}
	return r.Signed.Return(c.spent, end.Time)
}

// startable reports whether a task may start: the policy allows it, or a person
// did and the policy leaves it to a person. reason is set where the approval is
// what is wrong.
func (r *Run) startable(d decision.Decision, a *approval.Approval, s *Stored, now time.Time) (ok bool, reason string) {
	switch {
	case s.free(d, a):
		return true, ""
	case d.Outcome == terms.Reject:
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
