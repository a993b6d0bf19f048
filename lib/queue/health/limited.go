package health

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// brakes is what keeps due tasks waiting although somebody would start them.
type brakes struct {
	*Facts
	*past
	stopped bool // nothing starts, which a finding says
	limiter *queue.Limiter
	limits  []*limited
}

// limited counts the tasks of a kind that a limit keeps waiting.
type limited struct {
	late
	kind  task.Kind
	limit string
	until time.Time // when it lets go of the first
}

// idle returns for how long nobody has started a task that could have been started: since it was
// due, the queue was released and no limit kept it waiting. It notes the limit that still does, or
// did when a run looked last.
func (b *brakes) idle(v store.View, e *store.Entry) (time.Duration, error) {
	age := b.late(e)
	if e.State != task.Scheduled || age <= 0 || b.stopped {
		return 0, nil
	}
	age = min(age, b.Now.Sub(b.released))
	if b.Limits == nil {
		return age, nil
	}
	if b.limiter == nil {
		var err error
		if b.limiter, err = b.Limits(v); err != nil {
			return 0, err
		}
	}
	limit, until, err := b.limiter.Last(v, e)
	if since := b.Now.Sub(until); limit == "" || err != nil || since >= maxOrphan {
		return min(age, since), err
	}
	patience := maxLimited
	if limit == queue.LimitSender {
		patience = maxShared
	}
	if b.late(e)+until.Sub(b.Now) > patience {
		b.add(e, limit, until)
	}
	return 0, nil
}

func (b *brakes) add(e *store.Entry, limit string, until time.Time) {
	i := slices.IndexFunc(b.limits, func(l *limited) bool { return l.kind == e.Kind && l.limit == limit })
	if i < 0 {
		i, b.limits = len(b.limits), append(b.limits, &limited{kind: e.Kind, limit: limit, until: until})
	}
	l := b.limits[i]
	l.late.add(e, b.late(e))
	if until.Before(l.until) {
		l.until = until
	}
}

// findings returns a finding for each limit and kind.
func (b *brakes) findings() (list []Finding) {
	slices.SortFunc(b.limits, func(x, y *limited) int {
		return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.limit, y.limit))
	})
	for _, l := range b.limits {
		text := fmt.Sprintf("task %s (%s) is due and waits for %s, which lets go", l.oldest, l.kind, l.limit)
		if l.n > 1 {
			text = fmt.Sprintf("%d %ss are due and wait for %s, which lets go of the first", l.n, l.kind, l.limit)
		}
		list = append(list, Finding{
			Code: codeLimited, Task: l.oldest, About: string(l.kind) + " " + l.limit,
			Text: text + " at " + stamp(l.until), Do: listOf(task.Scheduled), with: l.kind == task.Ask && b.vain(),
		})
	}
	return list
}
