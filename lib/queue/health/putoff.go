package health

import (
	"fmt"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/task"
)

// mayBePutOff reports whether a scheduled task waits for a time that its worker may have
// asked for, and not a person.
func mayBePutOff(e *store.Entry) bool {
	return e.State == task.Scheduled && !e.NotBefore.IsZero() && !e.PutOff
}

// putOff looks in the log for tasks whose workers have asked to be run later, each time
// they were started, for too long.
func (f *Facts) putOff(q Queue, list []store.Entry) ([]Finding, error) {
	if f.MaxPutOff == 0 || len(list) == 0 {
		return nil, nil
	}
	first, left := map[string]time.Time{}, map[string]bool{}
	for i := range list {
		left[list[i].ID] = true
	}
	err := q.History(func(l audit.Line) bool {
		switch {
		case !left[l.Task] || !l.Moves() || l.Event == task.Started || l.Event == task.Restarted:
		case l.Change.Reason != queue.ReasonLater:
			delete(left, l.Task)
		default:
			first[l.Task] = l.Time
			if f.since(l.Time) > f.MaxPutOff {
				delete(left, l.Task)
			}
		}
		return len(left) > 0
	})
	var s some
	for i := range list {
		e := &list[i]
		if said, ok := first[e.ID]; ok && f.since(said) > f.MaxPutOff {
			s.add(Finding{
				Code: codePutOff, Task: e.ID, Do: "pulse-queue show " + e.ID,
				Text: fmt.Sprintf("task %s (%s %s) was put off by its worker again and again for more than %s",
					e.ID, e.Kind, e.Action, duration.Span(f.MaxPutOff)),
			})
		}
	}
	return s.findings(codePutOff, listOf(task.Scheduled)), err
}
