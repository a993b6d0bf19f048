// Package replay decides on records again: those of any stage, under any policy, by the
// code of the stages. It is for what compares policies and lets nothing start.
//
// Invariant: under the policy and with the sessions of then, the answer is that of then.
// Every time that counts is in the record. Caveat: it believes what a record says about
// the session that its message belonged to, and about effects and submitted asks, as
// pulse-authorize does. So its answers are not to be acted on.
package replay

import (
	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// Members lists the members of a record that are read.
var Members = append([]string{request.Member, decision.Member, decision.FollowsMember, task.Member}, identity.OriginMembers...)

// Case is a record that can be decided on again.
type Case struct {
	identity.Origin
	Request *request.Request // nil: there is none
	then    identity.Identity
}

// Read reads a record. It needs a message, or else an identity.
func Read(rec *record.Record) (Case, error) { return read(rec, identity.ReadAny) }

// ReadPiped reads a record that pulse-classify would take, and no other.
func ReadPiped(rec *record.Record) (Case, error) { return read(rec, identity.ReadOrigin) }

func read(rec *record.Record, origin func(*record.Record) (identity.Origin, error)) (c Case, err error) {
	if c.Origin, err = origin(rec); err != nil {
		return c, err
	}
	if c.Message != nil && rec.Has(identity.Member) {
		_ = rec.Decode(identity.Member, func(v record.Value) error { // pulse-classify discards it unread
			then, err := identity.Decode(v)
			if err == nil {
				c.then = then
			}
			return err
		})
	}
	if rec.Has(request.Member) {
		c.Request = new(request.Request)
		err = rec.Decode(request.Member, func(v record.Value) (err error) {
			*c.Request, err = request.Decode(v)
			return err
		})
	}
	return c, err
}

// Answer is what a policy makes of a case.
type Answer struct {
	Identity identity.Identity
	Decision decision.Follows // and what else follows
	Unknown  bool             // the policy asks for a DKIM check that the record does not hold
}

// Decide classifies and decides on a case under a policy.
func (c *Case) Decide(p *policy.Policy, world tools.World) Answer { return c.Trace(nil, p, world) }

// Trace is Decide, and notes each check in the log.
func (c *Case) Trace(log *trace.Log, p *policy.Policy, world tools.World) Answer {
	a := Answer{Identity: c.Origin.Trace(log, p)}
	a.Identity.Resume(&c.then, log)
	in := c.Input(&a.Identity, p, world)
	in.Log = log
	a.Decision = decision.Decide(in).Follow(&in)
	a.Unknown = a.Identity.Reason == identity.EvidenceMissing && c.Message != nil &&
		(a.Identity.Lacks(p) || a.Decision.Outcome != terms.Reject)
	return a
}

// Input is what pulse-authorize makes of the record.
func (c *Case) Input(id *identity.Identity, p *policy.Policy, world tools.World) decision.Input {
	in := decision.Input{Identity: id, Request: c.Request, Policy: p, World: world}
	if c.Message == nil {
		return in
	}
	in.Source = c.Message.Source
	if _, recipients := decision.Reads(p); recipients {
		in.Recipients = identity.Recipients(c.Message)
	}
	return in
}
