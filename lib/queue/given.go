package queue

import (
	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
)

// The members of a record that stand for the air gap (pulse-record(5)).
const (
	extractMember = "extract" // what a reader made of the text
	schemaMember  = "schema"  // what that has to fit, for readers alone
)

// Given is the part of a task that a worker is given, and that a person is shown before a
// yes. It has no header fields, no evidence and no members that no page names, so that
// text which no person has seen can't tell a worker what to do.
type Given struct {
	Message *envelope.Shown  // nil: the task is not from a message
	Request *request.Request // nil: there is none

	Outcomes []Outcome // how earlier effects ended, from PastOf
	Extract  []byte    // what its reader made of its text; nil: there is none

	bare     bool   // without what the sender of the message wrote
	schema   []byte // for a reader
	identity *identity.Identity
	decision *decision.Decision
	task     *task.Task
}

// Given returns the part of a task that is for people and, where the text is not withheld
// from them, for workers.
func (s *Stored) Given() *Given {
	who := s.Who()
	return &Given{
		Message: s.Shown, Request: s.Request, Outcomes: s.Outcomes, Extract: s.Extract,
		identity: &who, decision: &s.Decision, task: &s.Task,
	}
}

// Given returns what the program is given that was claimed for: its reader all and the schema,
// its worker all, or the extract and no text.
func (c *Claim) Given() *Given {
	g := c.Stored.Given()
	switch {
	case c.Schema != nil:
		g.Extract, g.schema = nil, c.Schema.Text
	case c.Extract != nil:
		g.withhold()
	}
	return g
}

// Line returns the record that a worker reads, without a newline. It is not the task
// file, and task.digest is not its digest.
func (g *Given) Line() []byte {
	var o record.Object
	if g.Message != nil {
		o.Raw(envelope.Member, g.message())
	}
	if g.Request != nil {
		o.Raw(request.Member, g.request())
	}
	o.Raw(identity.Member, g.identity.AppendShown(nil))
	o.Raw(decision.Member, g.decision.AppendShown(nil))
	if g.Extract != nil {
		o.Raw(extractMember, g.Extract)
	}
	if g.schema != nil {
		o.Raw(schemaMember, g.schema)
	}
	if len(g.Outcomes) > 0 {
		o.Raw(outcomesMember, appendOutcomes(nil, g.Outcomes))
	}
	o.Raw(task.Member, g.task.Append(nil))
	return o.Bytes()
}

func (g *Given) message() []byte {
	if g.bare {
		return g.Message.AppendBare(nil)
	}
	return g.Message.Append(nil)
}

// request returns the member. Without the text, its action is all that stays of it.
func (g *Given) request() []byte {
	if !g.bare {
		return g.Request.Append(nil)
	}
	var o record.Object
	o.Str("action", string(g.Request.Action))
	return o.Bytes()
}
