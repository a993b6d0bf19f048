package main

import (
	"pulse/lib/authorize/explain"
	"pulse/lib/authorize/replay"
	"pulse/lib/authorize/workspace"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/shared/policy"
)

// explain tells what today's policy says of a task, and what would decide otherwise.
func (t *teller) explain(s *queue.Stored) {
	if t.policy == nil || s.Record == nil {
		return
	}
	t.print(explain.Of(subjectOf(s, t.policy)).Brief()...)
}

// subjectOf returns a task as what run decides on under a policy.
func subjectOf(s *queue.Stored, p *policy.Policy) explain.Subject {
	who := s.Who()
	return explain.Subject{
		Case:   replay.Case{Origin: identity.Origin{Message: s.Message, Given: &who}, Request: s.Request},
		Policy: p, World: workspace.World{}, Settled: s.Decision.Action,
	}
}
