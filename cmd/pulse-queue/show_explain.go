package main

import (
	"pulse/lib/authorize/explain"
	"pulse/lib/authorize/workspace"
	"pulse/lib/queue"
)

// explain tells what today's policy says of a task, and what would decide otherwise.
func (t *teller) explain(s *queue.Stored) {
	if t.policy == nil || s.Record == nil {
		return
	}
	x := explain.Of(explain.Subject{
		Policy: t.policy, World: workspace.World{}, Message: s.Message, Request: s.Request,
		Identity: &s.Identity, Settled: s.Decision.Action,
	})
	t.print(x.Brief()...)
}
