package approval

import (
	"fmt"
	"time"
)

// Proof is what a yes of level signature is proven with, and what a ledger of such
// proofs spends of it.
type Proof struct {
	Statement []byte
	Signer    string
	Signature string

	Nonces  []string  // a use takes one of them
	Task    string    // what it is used for; empty: the ledger need not know
	Given   time.Time // not zero: worth nothing once the task was started later than that
	Expires time.Time // from when on it is never worth anything again
	Again   int       // how often the same task may take its use once more, after a crash
}

// Proofs returns what has to be proven for one use of the approval.
func (a *Approval) Proofs() []Proof {
	if len(a.Grants) == 0 {
		return []Proof{{
			Statement: a.Statement(), Signer: a.Signer, Signature: a.Signature,
			Nonces: []string{a.Nonce}, Task: a.Task, Given: a.Given, Expires: a.Expires,
		}}
	}
	var all []Proof
	for i := range a.Grants {
		all = append(all, a.Grants[i].Proof(a.Task))
	}
	return all
}

// Proof returns what has to be proven to spend the grant on a task, if any.
func (g *Grant) Proof(task string) Proof {
	return Proof{
		Statement: g.Statement(), Signer: g.Signer, Signature: g.Signature,
		Nonces: []string{g.ID}, Task: task, Expires: g.Expires,
	}
}

// Proof returns what has to be proven to start an ask within the session. Each use
// has a nonce of its own: the id, and its number in two hex digits. An ask that is
// started again, as often as it may be after crashes, needs no other one.
func (s *Session) Proof(task string, restarts int) Proof {
	p := Proof{
		Statement: s.Statement(), Signer: s.Signer, Signature: s.Signature,
		Task: task, Expires: s.Expires.Add(Kept), Again: restarts,
	}
	for n := range s.Max {
		p.Nonces = append(p.Nonces, fmt.Sprintf("%s%02x", s.ID, n+1))
	}
	return p
}
