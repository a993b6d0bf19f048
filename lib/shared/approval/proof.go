package approval

import (
	"fmt"
	"time"
)

// Proof holds what proves a yes of level signature, and what the ledger of spent
// signatures has to record about it.
type Proof struct {
	Statement []byte
	Level     Level // as the yes claims
	Signer    string
	Signature string
	sound     func(now time.Time) error

	Nonces  []string  // each use spends one of them
	Task    string    // the task that it is used for; empty: the ledger need not know
	Given   time.Time // unless zero, worthless once the task was started later than this
	Expires time.Time // worthless for ever from then on
	Again   int       // how many more times the same task may use its nonce, after crashes
}

// Sound returns nil if the signature is worth verifying (Approval.Sound).
func (p *Proof) Sound(now time.Time) error { return p.sound(now) }

// Late returns the proof of a yes that lapses later, by at most LongestWait, because limits kept
// its task waiting for so long.
func (p Proof) Late(by time.Duration) Proof {
	sound := p.sound
	p.sound = func(now time.Time) error { return sound(now.Add(-by)) }
	p.Expires = p.Expires.Add(by)
	return p
}

// Proofs returns everything that has to be proven for one use of the approval.
func (a *Approval) Proofs() []Proof {
	if len(a.Grants) == 0 {
		return []Proof{{
			Statement: a.Statement(), Level: a.Level, Signer: a.Signer, Signature: a.Signature, sound: a.Sound,
			Nonces: []string{a.Nonce}, Task: a.Task, Given: a.Given, Expires: a.Expires,
		}}
	}
	var all []Proof
	for i := range a.Grants {
		all = append(all, a.Grants[i].Proof(a.Task))
	}
	return all
}

// Proof returns what has to be proven to spend the grant. task may be empty.
func (g *Grant) Proof(task string) Proof {
	return Proof{
		Statement: g.Statement(), Level: g.Level, Signer: g.Signer, Signature: g.Signature, sound: g.Sound,
		Nonces: []string{g.ID}, Task: task, Expires: g.Expires,
	}
}

// Proof returns what has to be proven to start an ask within the session. Each use has
// its own nonce: the id, followed by the number of the use in two hex digits. An ask
// that is started again after a crash, at most restarts times, needs no new nonce.
func (s *Session) Proof(task string, restarts int) Proof {
	p := Proof{
		Statement: s.Statement(), Level: s.Level, Signer: s.Signer, Signature: s.Signature, sound: s.Sound,
		Task: task, Expires: s.Expires.Add(Kept), Again: restarts,
	}
	for n := range s.Max {
		p.Nonces = append(p.Nonces, fmt.Sprintf("%s%02x", s.ID, n+1))
	}
	return p
}
