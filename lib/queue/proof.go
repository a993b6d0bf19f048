package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/decision"
	"pulse/lib/terms"
)

// Signed is where signatures are checked, and what was signed is spent, out of reach
// of who can write the queue.
type Signed interface {
	// Check returns nil if the approval, made anew of the task as it is now, is one
	// that may be spent. An error that is not ErrNotGood says that nobody can tell.
	Check(a *approval.Approval, now time.Time) error
	// Spend makes sure, durably, that Check fails from now on.
	Spend(a *approval.Approval, now time.Time) error
	// Return takes that back.
	Return(a *approval.Approval, now time.Time) error
}

// ErrNotGood is the class of an approval that can't be used.
var ErrNotGood = errors.New("the approval is not good")

// signed returns the approval that has to be signed for a task to start, as it must
// be for the task file as it is, or nil.
func (r *Run) signed(d decision.Decision, a *approval.Approval, s *Stored) *approval.Approval {
	if a == nil || s.free(d, a) || approval.Level(r.Policy.Approval.Require) != approval.Signature {
		return nil
	}
	return &approval.Approval{
		Task: s.Task.ID, Digest: s.Task.Digest, Action: s.Decision.Action, Target: s.Target(),
		By: a.By, Level: a.Level, Nonce: a.Nonce, Given: a.Given, Expires: a.Expires,
		Signer: a.Signer, Signature: a.Signature,
	}
}

func (r *Run) check(signed *approval.Approval, now time.Time) error {
	if r.Signed == nil {
		return fmt.Errorf("%w: nobody checks signatures here", ErrNotGood)
	}
	return r.Signed.Check(signed, now)
}

// Return gives back what the start of a task spent, once the task is scheduled with
// its approval again: its worker said that nothing happened, or that it failed.
func (r *Run) Return(c *Claim, end *audit.Line) error {
	if c.spent == nil || end.Approval == nil {
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
