package queue

import (
	"errors"
	"fmt"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// Signed checks signatures and keeps what was spent of them, out of reach of anyone who
// can write the queue.
type Signed interface {
	// Check returns nil if all of the proofs are good, and may be spent. An error that is
	// not ErrNotGood means that it can't tell.
	Check(proofs []approval.Proof, now time.Time) error
	// Spend makes sure, durably, that Check fails from now on.
	Spend(proofs []approval.Proof, now time.Time) error
	// Return undoes Spend.
	Return(proofs []approval.Proof, now time.Time) error
}

// ErrNotGood means that an approval, a grant or a session can't be used.
var ErrNotGood = errors.New("the approval is not good")

// Proving says what a policy requires of a yes, and what can prove it.
type Proving struct {
	Require approval.Level
	Signed  Signed              // for level signature; nil: nothing is signed well
	Vouch   func(uid int) error // for level user; returns nil if this account may say yes
	Blind   bool                // neither is at hand: if they have to decide, the error is errBlind
}

// errBlind means that only a run can check a yes.
var errBlind = errors.New("only a run can check the yes")

// yes is a form of a person's yes: an approval, a grant or a session.
type yes interface {
	Suffices(require approval.Level) bool
	Sound(now time.Time) error
}

// proven returns nil if a yes proves what the policy requires, ErrNotGood if it does not,
// and any other error if it can't tell. The level that the yes claims is not a proof.
// holder is the only account that can have written it, 0 if there may be others.
func (p *Proving) proven(y yes, holder int, proofs []approval.Proof, now time.Time) error {
	if !y.Suffices(p.Require) {
		return fmt.Errorf("%w: the policy requires %s", ErrNotGood, p.Require)
	}
	switch p.Require {
	case approval.User:
		return p.vouched(holder)
	case approval.Signature:
		return p.signed(y, proofs, now)
	}
	return nil
}

func (p *Proving) vouched(holder int) error {
	switch {
	case holder != 0 && p.Blind:
		return errBlind
	case holder == 0 || p.Vouch == nil:
		return fmt.Errorf("%w: nobody vouches for it", ErrNotGood)
	}
	if err := p.Vouch(holder); err != nil {
		return fmt.Errorf("%w: %w", ErrNotGood, err)
	}
	return nil
}

func (p *Proving) signed(y yes, proofs []approval.Proof, now time.Time) error {
	if p.Signed == nil && !p.Blind {
		return fmt.Errorf("%w: nobody checks signatures here", ErrNotGood)
	}
	if err := y.Sound(now); err != nil {
		return fmt.Errorf("%w: %w", ErrNotGood, err)
	}
	if p.Blind {
		return errBlind
	}
	return p.Signed.Check(proofs, now)
}

// spends returns what a use of a yes spends, which is nothing unless the policy requires a
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
	return &Proving{approval.Level(r.Policy.Approval.Require), r.Signed, r.Vouch, r.Blind}
}

// Return gives back what the start of a task spent, once the task is scheduled again:
// its worker said that nothing happened, or that it failed.
func (r *Run) Return(c *Claim, end *audit.Line) error {
	if len(c.spent) == 0 || end.To != task.Scheduled {
		return nil
	}
	return r.Signed.Return(c.spent, end.Time)
}
