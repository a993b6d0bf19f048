package main

import (
	"pulse/lib/authorize/explain"
	"pulse/lib/authorize/replay"
	"pulse/lib/authorize/workspace"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
)

// explain tells what today's policy says of a task, and what would decide otherwise.
func (t *teller) explain(s *queue.Stored) {
	if t.policy == nil || s.Record == nil {
		return
	}
	who := s.Who()
	x := explain.Of(explain.Subject{
		Case:   replay.Case{Origin: identity.Origin{Message: s.Message, Given: &who}, Request: s.Request},
		Policy: t.policy, World: workspace.World{}, Settled: s.Decision.Action,
	})
	t.print(x.Brief()...)
}
