// Package identity decides who sent a message and how far that is proven: header
// fields and policy in, the `identity` member out (pulse-classify(1)).
//
// Invariant: a message is verified only if it passes every check below. The bytes
// compared are the bytes that Identity.Sender shows. Text and subject are never
// looked at. The header is read in one pass, linear in its length.
//
// Caveat: it believes the server whose authserv-id the policy pins. A receiver
// that lets forged Authentication-Results fields with its own id stand first can
// be made to say anything.
package identity

import (
	"slices"

	"pulse/lib/classify/addrspec"
	"pulse/lib/classify/authres"
	"pulse/lib/shared/address"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// evidence is everything about one message that the checks look at.
type evidence struct {
	m      *envelope.Message
	p      *policy.Policy
	header header
	from   addrspec.Mailbox // zero unless there is exactly one plain From
	flaw   finding          // what is wrong with From

	verdict
	by        policy.Evidence // what must prove the sender: never "either"
	bare      bool            // a dkim=pass without a domain counts
	signature signature       // the dkim result that comes closest
	best      *authres.Result // that result
	proof     proof           // what the signature covers, once it is known to prove the sender
	memory    memory
}

// memory is what is read of one message and written over for the next one.
type memory struct {
	results    authres.Memory
	hosts      []string
	signatures []dkimField
}

// finding is what a check found wrong. An empty reason means nothing was. detail
// goes into the sentence for people.
type finding struct {
	reason Reason
	detail string
}

// checks are in the order in which they are reported: the message itself, what the
// receiver says of it, what pulse itself found out, and last the recipients. So
// not_addressed means that nothing else was wrong.
var checks = [...]check[*evidence]{
	{"intact", func(e *evidence) finding { return intact(e.m) }, func(e *evidence) trace.Step { return sawDefects(e.m) }, nil},
	{"author", (*evidence).author, (*evidence).sawFrom, nil},
	{"single", (*evidence).single, (*evidence).sawFields, nil},
	{"equipped", (*evidence).equipped, (*evidence).sawOwnCheck, (*evidence).byOwnCheck},
	{"receiver", (*evidence).usable, (*evidence).sawReceiver, (*evidence).byReceiver},
	{"dmarc", (*evidence).dmarc, (*evidence).sawDMARC, (*evidence).byReceiver},
	{"dkim", (*evidence).dkim, (*evidence).sawDKIM, (*evidence).byReceiver},
	{"carried", (*evidence).carried, (*evidence).sawSignatures, (*evidence).byReceiverAlone},
	{"posted", (*evidence).posted, (*evidence).sawReceived, (*evidence).byReceiver},
	{"fit", (*evidence).fit, (*evidence).sawVerdict, (*evidence).byReceiver},
	{"own", (*evidence).own, (*evidence).sawOwnCheck, (*evidence).byOwnCheck},
	{"addressed", (*evidence).addressed, (*evidence).sawRecipients, (*evidence).byRecipients},
}

// What the policy can ask for: the word of the receiving server, that word and nothing
// else, pulse's own check of the signature, and the recipients.
func (e *evidence) byReceiver() bool      { return e.by != policy.ByDKIM }
func (e *evidence) byReceiverAlone() bool { return e.by == policy.ByAuthRes }
func (e *evidence) byOwnCheck() bool      { return e.by != policy.ByAuthRes }
func (e *evidence) byRecipients() bool    { return e.p.Recipients != nil }

// Classify returns the identity of a message under a policy and the sessions that
// an approver opened.
func Classify(m *envelope.Message, p *policy.Policy, sessions ...approval.Session) Identity {
	return Trace(nil, m, p, sessions...)
}

// Trace is Classify, and notes in the log what each check saw.
func Trace(log *trace.Log, m *envelope.Message, p *policy.Policy, sessions ...approval.Session) Identity {
	return new(evidence).classify(log, m, p, sessions)
}

// classify is Trace in the memory of e.
func (e *evidence) classify(log *trace.Log, m *envelope.Message, p *policy.Policy, sessions []approval.Session) Identity {
	if isRequest(m) {
		return request(log, m, p)
	}
	if pl := p.Platform(m.Source); pl != nil {
		return platform(log, m, p, pl)
	}
	e.gather(m, p)
	id := Identity{
		Sender:    e.from.Address,
		Stale:     e.stale(),
		Automatic: e.header.automatic,
		Auth:      e.understood(),
	}
	found := first(e, log, checks[:])
	id.Verified = found.reason == ""
	id.Trust = trust(p, id.Sender, id.Verified)
	if s := e.session(&id, sessions); s != nil {
		id.Trust, id.Session = terms.ApprovedSession, s.ID
	}
	if id.Verified {
		found = finding{provenAs(id.Trust), e.voucher()}
	}
	if id.Verified {
		e.settle()
		if id.Unsigned = e.proof.unsigned; e.textProven() {
			id.Unsigned &^= mimeFields
		}
		// Under either, whoever sends a mail on chooses what proves it, and must not choose
		// its id: two would be two tasks.
		if p.Evidence == policy.ByDKIM || p.Evidence == policy.ByBoth || !e.header.named(&e.proof) {
			id.Signed = e.header.signed(&e.proof)
		}
	}
	id.Reason, id.Why = found.reason, found.reason.sentence(found.detail)
	if log != nil {
		e.noteSender(log, &id)
	}
	return id
}

func (e *evidence) gather(m *envelope.Message, p *policy.Policy) {
	*e = evidence{m: m, p: p, header: collect(m), memory: e.memory}
	e.from, e.flaw = e.header.sender()
	e.verdict = read(m, p, &e.memory)
	e.by = e.verdict.evidence(p)
	e.bare = e.dialect.bare && e.allAligned()
	e.signature = e.closest()
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
		return authenticatedExternal
	}
	return authenticatedUnlisted
}

// Cap lowers a stored identity to what a later policy still grants. An owner or an
// external sender that the policy no longer lists becomes unknown. Cap never raises.
// A task of pulse-queue submit keeps its level. An effect carries trust and sender of
// the ask it began with, and follows that sender.
func (id *Identity) Cap(p *policy.Policy) {
	listed := true
	switch id.Trust {
	case terms.OwnerClaim, terms.OwnerVerifiedEmail, terms.ApprovedSession:
		listed = isOwner(p, id.Sender)
	case terms.ExternalVerified:
		listed = address.Listed(p.AllowedExternal, id.Sender)
	}
	if still, ok := onPlatform(p, id.Sender, id.Chat, id.Trust); ok {
		listed = still || id.Trust == terms.Unknown
	}
	if !listed {
		id.Trust, id.Reason, id.Why = terms.Unknown, NoLongerListed, NoLongerListed.sentence("")
	}
}

// Proposes returns the identity of an effect that an agent proposes at work for id: whatever
// the agent says, sender and trust are those of id.
func (id *Identity) Proposes() Identity {
	return Identity{
		Sender: id.Sender, Trust: id.Trust, Verified: id.Verified, Stale: id.Stale,
		Automatic: id.Automatic, Reason: id.Reason, Session: id.Session, Chat: id.Chat,
		Why: "an agent proposes it, at work for " + id.Sender, Via: ViaAgent,
	}
}

// intact refuses a message whose header may differ from what was sent.
func intact(m *envelope.Message) finding {
	if d := m.Unverifiable(); d != "" {
		return finding{Defective, string(d)}
	}
	return finding{}
}

// author reports what is wrong with From (RFC 5322 §3.6.2).
func (e *evidence) author() finding { return e.flaw }

// single demands that no field which signers and readers take for unique appears
// twice (RFC 5322 §3.6), because each reader chooses for itself which one counts.
func (e *evidence) single() finding {
	for s := range slots {
		switch {
		case e.header.odd[s]:
			return finding{oddFieldName, s.String()}
		case e.header.count[s] > 1:
			return finding{duplicateField, s.String()}
		}
	}
	return finding{}
}
