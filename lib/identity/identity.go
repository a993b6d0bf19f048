// Package identity decides who sent a message and how far that is proven: header
// fields and policy in, the `identity` member out (pulse-classify(1)).
//
// Invariant: a message is verified only if every check below passed; the bytes
// compared are the bytes that Identity.Sender shows; text and subject are never
// looked at. One pass over the header, linear in its length.
//
// Caveat: it believes the server whose authserv-id the policy pins. A receiver
// that lets forged Authentication-Results fields with its own id stand first can
// be made to say anything.
package identity

import (
	"slices"

	"pulse/lib/address"
	"pulse/lib/approval"
	"pulse/lib/authres"
	"pulse/lib/envelope"
	"pulse/lib/policy"
	"pulse/lib/terms"
)

// evidence is everything about one message that the checks look at.
type evidence struct {
	m      *envelope.Message
	p      *policy.Policy
	header header
	from   mailbox // zero unless there is exactly one plain From
	flaw   finding // of From

	results   authres.Field // zero unless the field that counts was understood
	unusable  finding       // why it was not
	signature signature     // the dkim result that comes closest
	proof     proof         // what the signature covers, once it is known to prove the sender
}

// finding is what a check found wrong: nothing when reason is empty. detail goes
// into the sentence for people.
type finding struct {
	reason Reason
	detail string
}

// checks, in the order in which they are reported: first what is wrong with the
// message itself, then with what the receiver says of it, with what we found out
// ourselves, and last to whom it went.
// So not_addressed means that nothing else was wrong.
var checks = [...]func(*evidence) finding{
	(*evidence).intact,
	(*evidence).author,
	(*evidence).single,
	(*evidence).equipped,
	(*evidence).receiver,
	(*evidence).own,
	(*evidence).addressed,
}

// Classify returns the identity of a message under a policy, and under sessions
// that a person opened.
func Classify(m *envelope.Message, p *policy.Policy, sessions ...approval.Session) Identity {
	if isRequest(m) {
		return request(m, p)
	}
	if pl := p.Platform(m.Source); pl != nil {
		return platform(m, p, pl)
	}
	e := gather(m, p)
	id := Identity{
		Sender:    e.from.address,
		Stale:     e.stale(),
		Automatic: e.header.automatic,
		Auth:      e.understood(),
	}
	found := first(e, checks[:]...)
	id.Verified = found.reason == ""
	id.Trust = trust(p, id.Sender, id.Verified)
	if s := e.session(&id, sessions); s != nil {
		id.Trust, id.Session = terms.ApprovedSession, s.ID
	}
	if id.Verified {
		found = finding{provenAs(id.Trust), e.voucher()}
	}
	if id.Verified {
		id.Unsigned = e.proof.unsigned
	}
	if id.Verified && (p.Evidence != policy.ByAuthRes || !e.header.named(&e.proof)) {
		id.Signed = e.header.signed(&e.proof)
	}
	id.Reason, id.Why = found.reason, found.reason.sentence(found.detail)
	return id
}

func gather(m *envelope.Message, p *policy.Policy) *evidence {
	e := &evidence{m: m, p: p, header: collect(m)}
	e.from, e.flaw = e.header.sender()
	e.results, e.unusable = selected(m, p)
	e.signature = e.closest()
	return e
}

// first returns the first finding of the checks.
func first(e *evidence, checks ...func(*evidence) finding) finding {
	for _, check := range checks {
		if f := check(e); f.reason != "" {
			return f
		}
	}
	return finding{}
}

func trust(p *policy.Policy, sender string, verified bool) terms.Trust {
	switch {
	case sender != "" && isOwner(p, sender):
		if verified {
			return terms.OwnerVerifiedEmail
		}
		return terms.OwnerClaim
	case verified && address.Listed(p.AllowedExternal, sender):
		return terms.ExternalVerified
	}
	return terms.Unknown
}

func isOwner(p *policy.Policy, sender string) bool {
	return slices.ContainsFunc(p.Owners, func(o string) bool { return address.Equal(o, sender) })
}

func provenAs(t terms.Trust) Reason {
	switch t {
	case terms.OwnerVerifiedEmail:
		return AuthenticatedOwner
	case terms.ApprovedSession:
		return ApprovedSession
	case terms.ExternalVerified:
		return AuthenticatedExternal
	}
	return AuthenticatedUnlisted
}

// Cap lowers a stored identity to what a later policy still grants: an owner who
// is no owner any more, or an external who is no longer listed, is unknown. It
// never raises. A task of pulse-queue submit keeps its level; an effect, which
// carries trust and sender of the ask it began with, follows that sender.
func (id *Identity) Cap(p *policy.Policy) {
	listed := true
	switch id.Trust {
	case terms.OwnerClaim, terms.OwnerVerifiedEmail, terms.ApprovedSession:
		listed = isOwner(p, id.Sender)
	case terms.ExternalVerified:
		listed = address.Listed(p.AllowedExternal, id.Sender)
	}
	if still, ok := onPlatform(p, id.Sender, id.Trust); ok {
		listed = still || id.Trust == terms.Unknown
	}
	if !listed {
		id.Trust, id.Reason, id.Why = terms.Unknown, NoLongerListed, NoLongerListed.sentence("")
	}
}

// intact refuses a message whose header may not be what was sent.
func (e *evidence) intact() finding {
	if d := e.m.Unverifiable(); d != "" {
		return finding{Defective, string(d)}
	}
	return finding{}
}

// author reports what is wrong with From (RFC 5322 §3.6.2).
func (e *evidence) author() finding { return e.flaw }

// single demands that no field which signers and readers take for unique stands
// there twice (RFC 5322 §3.6): which one counts is up to whoever reads.
func (e *evidence) single() finding {
	for s := range slots {
		switch {
		case e.header.odd[s]:
			return finding{OddFieldName, s.String()}
		case e.header.count[s] > 1:
			return finding{DuplicateField, s.String()}
		}
	}
	return finding{}
}
