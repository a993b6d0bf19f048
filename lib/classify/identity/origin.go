package identity

import (
	"pulse/lib/shared/approval"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	requests "pulse/lib/shared/request"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// OriginMembers lists the members that ReadOrigin and ReadAny read, so that a reader can
// be told of them.
var OriginMembers = []string{envelope.Member, Member}

// Origin is the part of a record that an identity is made of: a message, or the identity
// that pulse gave a record which has none.
type Origin struct {
	Message *envelope.Message // nil: there is none, and Given counts
	Given   *Identity         // nil: there is a message, and whatever stands in the record is discarded
	memory  *evidence         // of the message before
}

// ReadOrigin reads the origin of a record. A message is always classified anew. A record
// without one must be an effect or come from pulse-queue submit: it has a request, and
// an identity whose via says so. pulse-fetch writes neither member, so what a stranger
// sends never gets here.
func ReadOrigin(rec *record.Record) (o Origin, err error) {
	err = o.Read(rec)
	return o, err
}

// Read is ReadOrigin. It uses the memory of the message that o was.
func (o *Origin) Read(rec *record.Record) error {
	err := o.readAny(rec)
	if err == nil && o.Given != nil && (o.Given.Via == ViaMessage || !rec.Has(requests.Member)) {
		o.Message, o.Given = nil, nil
		return missing(rec, envelope.Member)
	}
	return err
}

// ReadAny is ReadOrigin for a caller that lets nothing start: a record without a message
// may have any identity.
func ReadAny(rec *record.Record) (o Origin, err error) {
	err = o.readAny(rec)
	return o, err
}

func (o *Origin) readAny(rec *record.Record) error {
	m := o.Message
	o.Message, o.Given = nil, nil
	switch {
	case rec.Has(envelope.Member):
		if o.Message = m; m == nil {
			o.Message = new(envelope.Message)
		}
		return o.Message.Read(rec)
	case rec.Has(Member):
		o.Given = new(Identity)
		return rec.Decode(Member, func(v record.Value) (err error) {
			*o.Given, err = Decode(v)
			return err
		})
	}
	return missing(rec, envelope.Member)
}

// missing returns the error of a record that lacks a member.
func missing(rec *record.Record, member string) error {
	_, err := rec.Get(member)
	return err
}

// Classify returns the identity under a policy and the sessions that an approver opened.
// A given identity is capped, so it never rises.
func (o *Origin) Classify(p *policy.Policy, sessions ...approval.Session) Identity {
	return o.Trace(nil, p, sessions...)
}

// Trace is Classify, and notes each check in the log.
func (o *Origin) Trace(log *trace.Log, p *policy.Policy, sessions ...approval.Session) Identity {
	if o.Message != nil {
		if o.memory == nil {
			o.memory = new(evidence)
		}
		return o.memory.classify(log, o.Message, p, sessions)
	}
	id := *o.Given
	id.Cap(p)
	if log != nil {
		log.Add("listed", o.Given.sawGiven(p), string(id.Trust))
	}
	return id
}

// Lacks reports whether nobody can say what the sender would be under the policy: it lists
// the sender, who is not proven only because the record does not hold message.dkim.
func (id *Identity) Lacks(p *policy.Policy) bool {
	return id.Reason == EvidenceMissing && trust(p, id.Sender, true) != terms.Unknown
}

// Resume puts the identity of a message back into the session that the message belonged to
// when it was added. It is for callers that let nothing start, because a session that then
// was open is not one that is open now.
func (id *Identity) Resume(then *Identity, log *trace.Log) {
	if then.Trust == terms.ApprovedSession && id.Trust == terms.OwnerVerifiedEmail && !id.Stale && !id.Automatic {
		id.Trust, id.Session, id.Reason, id.Why = then.Trust, then.Session, then.Reason, then.Why
		log.Amend("listed", ", session "+id.Session, string(id.Trust))
	}
}
