package inspect

import (
	"errors"

	"pulse/lib/approve/screen"
	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// child reports whether a line is about an effect that this task proposed.
func (t *teller) child(l *audit.Line) bool { return l.Settles() && l.Parent == t.id }

// proposed tells where the effects of a task stand, and how many proposals wait in its
// outbox.
func (t *teller) proposed() error {
	seen := map[string]bool{}
	for i := range t.lines {
		l := &t.lines[i]
		if !t.child(l) || seen[l.Task] {
			continue
		}
		seen[l.Task] = true
		st, err := t.v.Where(l.Task)
		if err != nil {
			return err
		}
		stands := string(st)
		switch {
		case l.Event == task.Refused:
			stands = "rejected (" + l.Change.Reason + ")"
		case st == "":
			stands = "pruned"
		}
		t.print(screen.Fact("effect", "%s %s: %s", l.Task, l.Action, stands))
	}
	file, err := queue.OutboxOf(t.v, t.id)
	if err != nil || len(file) == 0 {
		return err
	}
	list, err := store.ReadOutbox(file)
	if errors.Is(err, store.ErrOutbox) {
		t.print(screen.Fact("outbox", "it can't be read: %s", t.where.Command("pulse-queue verify")))
		return nil
	}
	t.print(screen.Fact("outbox", "%d not taken yet: %s", len(list),
		t.where.Command("pulse-queue outbox | pulse-authorize | pulse-queue add")))
	return err
}
