// Package explain says why a record is decided as it is: every check in its order, what
// each saw, which line of the policy decided, and the smallest change of the policy or of
// the mail that would decide otherwise (pulse-authorize(1)).
//
// Invariant: the steps are noted by the code that decides, and a change is only named if
// that code, run again with the change made, decides otherwise. Caveat: a change that helps
// is not a change that is wise; its Risk says what else it lets in.
package explain

import (
	"fmt"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// Members lists the members of a record that Read looks at.
var Members = []string{envelope.Member, request.Member, identity.Member}

// Subject is what is decided on.
type Subject struct {
	Policy   *policy.Policy
	World    tools.World        // as in decision.Input
	Message  *envelope.Message  // nil: the record is not of a message
	Request  *request.Request   // nil: there is none
	Identity *identity.Identity // as the record has it; nil: it was not classified yet
	Settled  terms.Action       // of a task in the queue: what it was accepted as; then Identity is believed
}

// Read returns the subject of a record of any stage. The error of a record that holds
// neither a message nor an identity is that of a missing message.
func Read(rec *record.Record, p *policy.Policy, world tools.World) (Subject, error) {
	s := Subject{Policy: p, World: world}
	var err error
	if rec.Has(envelope.Member) || !rec.Has(identity.Member) {
		s.Message = new(envelope.Message)
		err = rec.Decode(envelope.Member, func(v record.Value) (err error) {
			*s.Message, err = envelope.Decode(v)
			return err
		})
	}
	if err == nil && rec.Has(request.Member) {
		s.Request = new(request.Request)
		err = rec.Decode(request.Member, func(v record.Value) (err error) {
			*s.Request, err = request.Decode(v)
			return err
		})
	}
	if err == nil && rec.Has(identity.Member) {
		s.Identity = new(identity.Identity)
		err = rec.Decode(identity.Member, func(v record.Value) (err error) {
			*s.Identity, err = identity.Decode(v)
			return err
		})
	}
	return s, err
}

// given reports whether the identity is that of the record: nobody but the queue knows who
// stands behind an effect or a submitted ask, and a task was classified once.
func (s *Subject) given() bool {
	return s.Message == nil || s.Settled != "" || s.Identity != nil && s.Identity.Via != identity.ViaMessage
}

// answer is what becomes of a subject.
type answer struct {
	id identity.Identity
	d  decision.Decision
}

// decide classifies and decides, as pulse-classify and pulse-authorize do. What is in a
// queue it decides on as pulse-queue run does.
func (s *Subject) decide(log *trace.Log) (a answer) {
	if s.given() {
		a.id = *s.Identity
		s.noteGiven(log, &a.id)
	} else {
		a.id = identity.Trace(log, s.Message, s.Policy, s.session()...)
	}
	in := decision.Input{Identity: &a.id, Request: s.Request, Policy: s.Policy, World: s.World, Log: log}
	if s.Message != nil {
		in.Source, in.Recipients = s.Message.Source, identity.Recipients(s.Message)
	}
	if s.Settled != "" {
		a.d = decision.Again(in, s.Settled)
	} else {
		a.d = decision.Decide(in)
	}
	return a
}

// noteGiven lowers an identity from the queue to what the policy still grants, and notes
// what is known of it.
func (s *Subject) noteGiven(log *trace.Log, id *identity.Identity) {
	step := trace.Step{Saw: fmt.Sprintf("%s is %s, as the record has it", id.Sender, id.Trust)}
	if s.Settled != "" {
		step.Saw = fmt.Sprintf("%s was %s when the task was added", id.Sender, id.Trust)
		step.Key = lists[id.Trust]
		id.Cap(s.Policy)
	}
	if id.Effect() {
		step.Saw += ", for the ask that the effect began with"
	}
	if log != nil {
		log.Add("listed", step, string(id.Trust))
	}
}

// lists are the keys by which a sender of a trust level is trusted.
var lists = map[terms.Trust]string{
	terms.OwnerClaim: "owners", terms.OwnerVerifiedEmail: "owners", terms.ApprovedSession: "owners",
	terms.ExternalVerified: "allowed_external",
}

// session returns the session that the record names. Only the queue knows sessions, and it
// was asked by the stage before.
func (s *Subject) session() []approval.Session {
	if s.Identity == nil || s.Identity.Session == "" {
		return nil
	}
	return []approval.Session{{ID: s.Identity.Session, Sender: s.Identity.Sender, Max: 1, Left: 1,
		Level: approval.Signature, Expires: time.Unix(1<<40, 0)}}
}

// Explanation says why a record is decided as it is.
type Explanation struct {
	Identity identity.Identity
	Decision decision.Decision
	Steps    []trace.Step
	Decided  int      // which of the steps decided
	OfPolicy []Change // changes of the policy that would decide otherwise, the smallest first
	OfMail   []Change // changes of the mail or the request that would

	s Subject
}

// Of explains a subject.
func Of(s Subject) *Explanation {
	var log trace.Log
	a := s.decide(&log)
	x := &Explanation{s: s, Identity: a.id, Decision: a.d, Steps: log.Steps}
	for i := range x.Steps {
		if x.Steps[i].Result == string(a.d.Outcome) {
			x.Decided = i
		}
	}
	x.advise(a)
	return x
}
