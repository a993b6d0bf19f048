package main

import (
	"pulse/lib/authorize/explain"
	"pulse/lib/queue"
	"pulse/lib/queue/report"
)

// explain tells what today's policy says of a task, and what would decide otherwise.
func (t *teller) explain(s *queue.Stored) {
	if t.policy == nil || s.Record == nil {
		return
	}
	t.print(explain.Of(report.Subject(s, t.policy)).Brief()...)
}
