// Package terms is the vocabulary of the gate: how far a sender is proven, what may be
// asked for and what the gate answers. The words are those of records, policy files and
// the command line.
//
// Invariant: Valid accepts only the words in the lists here, byte for byte. Caveat: the
// types are strings, so a decoder has to call Valid before it relies on a word.
package terms

import "slices"

// Trust says how far the sender of a record is proven.
type Trust string

// The trust levels, from none to most.
const (
	Unknown            Trust = "unknown"
	OwnerClaim         Trust = "owner_claim_unverified"
	ExternalVerified   Trust = "external_verified"
	OwnerVerifiedEmail Trust = "owner_verified_email"
	ApprovedSession    Trust = "approved_session"
	System             Trust = "system"
)

// TrustLevels lists the trust levels from none to most.
var TrustLevels = []Trust{Unknown, OwnerClaim, ExternalVerified, OwnerVerifiedEmail, ApprovedSession, System}

// Valid reports whether t is one of the trust levels.
func (t Trust) Valid() bool { return slices.Contains(TrustLevels, t) }

// Action is what a record asks for.
type Action string

// The actions, from harmless to dangerous.
const (
	ReadPublic     Action = "read_public"
	ReadPrivate    Action = "read_private"
	WriteLocal     Action = "write_local"
	ExternalSend   Action = "external_send"
	Destructive    Action = "destructive"
	CodeOrComputer Action = "code_or_computer"
)

// Actions lists the actions from harmless to dangerous.
var Actions = []Action{ReadPublic, ReadPrivate, WriteLocal, ExternalSend, Destructive, CodeOrComputer}

// Valid reports whether a is one of the actions.
func (a Action) Valid() bool { return slices.Contains(Actions, a) }

// Outward reports whether an effect with this action reaches the outside and can't be
// taken back. Such an effect needs a person's yes, which is spent before it starts.
func (a Action) Outward() bool {
	return a == ExternalSend || a == Destructive || a == CodeOrComputer
}

// Outcome is the answer of the gate.
type Outcome string

// The outcomes, from open to shut.
const (
	Allow   Outcome = "allow"
	Confirm Outcome = "require_owner_confirmation"
	Review  Outcome = "queue_for_review"
	Reject  Outcome = "reject"
)

// Outcomes lists the outcomes from open to shut.
var Outcomes = []Outcome{Allow, Confirm, Review, Reject}

// Reach says how far an outcome lets a record go: 0 nowhere, 1 to a person, 2 on its way.
func (o Outcome) Reach() int {
	switch o {
	case Allow:
		return 2
	case Confirm, Review:
		return 1
	}
	return 0
}

// Valid reports whether o is one of the outcomes.
func (o Outcome) Valid() bool { return slices.Contains(Outcomes, o) }
