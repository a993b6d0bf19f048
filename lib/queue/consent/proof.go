// Package consent says whether a person's yes is one: whose it is, whether it proves what a policy
// requires, and whose else is needed.
//
// Invariant: the level that a yes claims is not a proof.
//
// Caveat: it knows no tasks. What a yes is for is a matter of package queue.
package consent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/policy"
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
	// Names returns all names of whoever made a signature. The error is ErrNotGood if nobody knows.
	Names(signature string) ([]string, error)
}

// ErrNotGood means that an approval, a grant or a session can't be used.
var ErrNotGood = errors.New("the approval is not good")

// Proving says what a policy requires of a yes, and what can prove it.
type Proving struct {
	Require  approval.Level
	Signed   Signed                      // checks yeses of level signature; nil: nothing is signed well
	Vouch    func(approval.Holder) error // for level user; returns nil if this holder may say yes
	Blind    bool                        // neither is at hand: if they have to decide, the error is ErrBlind
	Answers  func(approval.Holder) error // of a server, which starts what reaches the outside on a person's yes alone; nil: there is none
	Outbound *policy.Policy              // of which the rows and outbound.allow count; nil: one without them
}

// ErrBlind means that only a run can check a yes.
var ErrBlind = errors.New("only a run can check the yes")

// yes is a form of a person's yes: an approval, a grant or a session.
type yes interface {
	Suffices(require approval.Level) bool
}

// Proven returns nil if a yes proves what the policy requires, ErrNotGood if it does not,
// and any other error if it can't tell. The level that the yes claims is not a proof.
// holder is the only one that can have written it, if there is one.
func (p *Proving) Proven(y yes, holder approval.Holder, proofs []approval.Proof, now time.Time) error {
	if !y.Suffices(p.Require) {
		return fmt.Errorf("%w: the policy requires %s", ErrNotGood, p.Require)
	}
	signed := p.Spends(proofs)
	if p.Require == approval.User && len(signed) < len(proofs) {
		if err := p.vouched(holder); err != nil {
			return err
		}
	}
	if len(signed) == 0 {
		return nil
	}
	return p.signed(signed, now)
}

func (p *Proving) vouched(holder approval.Holder) error {
	switch {
	case holder != "" && p.Blind:
		return ErrBlind
	case holder == "" || p.Vouch == nil:
		return fmt.Errorf("%w: nobody vouches for it", ErrNotGood)
	}
	if err := p.Vouch(holder); err != nil {
		return fmt.Errorf("%w: %w", ErrNotGood, err)
	}
	return nil
}

// Answered returns ErrNotGood for a yes on which the queue's server would start nothing that
// reaches the outside.
func (p *Proving) Answered(holder approval.Holder) error {
	if p.Answers == nil {
		return nil
	}
	if err := p.Answers(holder); err != nil {
		return fmt.Errorf("%w: %w", ErrNotGood, err)
	}
	return nil
}

func (p *Proving) signed(proofs []approval.Proof, now time.Time) error {
	if p.Signed == nil && !p.Blind {
		return fmt.Errorf("%w: nobody checks signatures here", ErrNotGood)
	}
	for i := range proofs {
		if err := proofs[i].Sound(now); err != nil {
			return fmt.Errorf("%w: %w", ErrNotGood, err)
		}
	}
	if p.Blind {
		return ErrBlind
	}
	return p.Signed.Check(proofs, now)
}

// Spends returns what a use of a yes has to prove by signatures, and spends. That is all of
// it if the policy requires signatures. At level user it is what claims to be signed: such
// a yes is good whichever account wrote the file. Where nothing checks signatures, the claim
// proves nothing, and the account has to. At level terminal nothing is proven.
func (p *Proving) Spends(proofs []approval.Proof) []approval.Proof {
	switch {
	case p.Require == approval.Signature:
		return proofs
	case p.Require != approval.User || p.Signed == nil && !p.Blind:
		return nil
	}
	unsigned := func(proof approval.Proof) bool { return proof.Level != approval.Signature }
	return slices.DeleteFunc(slices.Clone(proofs), unsigned)
}

// Spend spends signed proofs, so that none counts again.
func (p *Proving) Spend(proofs []approval.Proof, now time.Time) error {
	if len(proofs) == 0 {
		return nil
	}
	return p.Signed.Spend(proofs, now)
}

// Targets returns the policy by which targets are judged and compared.
func (p *Proving) Targets() *policy.Policy { return cmp.Or(p.Outbound, &policy.Policy{}) }
