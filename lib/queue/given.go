package queue

import (
	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
)

// Given is the part of a task that a worker is given, and that a person is shown before a
// yes. It has no header fields, no evidence and no members that no page names, so that
// text which no person has seen can't tell a worker what to do.
type Given struct {
	Message *envelope.Shown  // nil: the task is not from a message
	Request *request.Request // nil: there is none

	Outcomes []Outcome // how earlier effects ended, from OutcomesOf

	identity *identity.Identity
	decision *decision.Decision
	task     *task.Task
}

// Given returns the part of a task that is for people and workers.
func (s *Stored) Given() *Given {
	who := s.Who()
	return &Given{s.Shown, s.Request, s.Outcomes, &who, &s.Decision, &s.Task}
}

// Line returns the record that a worker reads, without a newline. It is not the task
// file, and task.digest is not its digest.
func (g *Given) Line() []byte {
	var o record.Object
	if g.Message != nil {
		o.Raw(envelope.Member, g.Message.Append(nil))
	}
	if g.Request != nil {
		o.Raw(request.Member, g.Request.Append(nil))
	}
	o.Raw(identity.Member, g.identity.AppendShown(nil))
	o.Raw(decision.Member, g.decision.AppendShown(nil))
	if len(g.Outcomes) > 0 {
		o.Raw(OutcomesMember, appendOutcomes(nil, g.Outcomes))
	}
	o.Raw(task.Member, g.task.Append(nil))
	return o.Bytes()
}
