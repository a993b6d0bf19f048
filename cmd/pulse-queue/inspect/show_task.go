package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"pulse/lib/approve/screen"
	"pulse/lib/authorize/explain"
	"pulse/lib/authorize/workspace"
	"pulse/lib/queue"
	"pulse/lib/queue/report"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
)

// gone tells of a task that has no file: it was refused, or pruned, or the file is missing.
func (t *teller) gone() error {
	last, err := queue.PrunedOf(t.v, t.id)
	if err != nil {
		return err
	}
	var l *audit.Line
	reason := "" // of the identity: the line of its pruning has none
	for i := range t.lines {
		if t.lines[i].Task == t.id && t.lines[i].Kind != "" { // the others say nothing of the record
			l = &t.lines[i]
			reason = cmp.Or(l.IdentityReason, reason)
		}
	}
	if l == nil {
		return fmt.Errorf("%w: %s", store.ErrUnknown, t.id)
	}
	kept, err := t.kept()
	if err != nil {
		return err
	}
	if l.IdentityReason = reason; !kept {
		t.print(screen.Gone(l, last, t.logged())...)
	}
	t.history()
	t.print(screen.After(l, last, t.logged(), t.where)...)
	return nil
}

// kept tells of a refused record that is kept, if this is one.
func (t *teller) kept() (bool, error) {
	s, err := queue.RefusedOf(t.v, t.id)
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCorrupt) {
		return false, nil // the log knows it, and verify says what is wrong with its file
	}
	if err != nil {
		return false, err
	}
	t.print(screen.Task(&s, t.now)...)
	t.print(screen.Policy(s.Decision.Policy))
	return true, nil
}

// task tells what a task is, what came of it, what happened to it, what can be done next,
// and what would have to be so for today's policy to decide otherwise.
func (t *teller) task(st task.State) error {
	s, err := queue.Load(t.v, st, t.id)
	switch {
	case errors.Is(err, store.ErrCorrupt):
		t.print(screen.Fact("task", "%s", t.id), screen.Fact("state", "%s: its file can't be read", st))
		t.print(screen.Fact("because", "%v", err))
	case err != nil:
		return err
	default:
		if st.Open() { // its worker is given these
			if err := t.past.Tell(t.v, &s); err != nil {
				return err
			}
		}
		if s.Extract, err = queue.ExtractOf(t.v, t.id); err != nil {
			return err
		}
		if err := s.Hear(t.v); err != nil {
			return err
		}
		t.print(screen.Task(&s, t.now)...)
		t.print(screen.Reach(&s, t.policy)...)
		if id := s.Identity.Session; id != "" {
			t.print(screen.Fact("session", "%s", id))
		}
		if who := &s.Identity; who.Effect() {
			t.print(screen.Fact("proposed", "by task %s, for root %s", who.Parent, who.Root))
		}
		t.print(screen.Policy(s.Decision.Policy))
	}
	m, err := t.moment(&s)
	if err != nil {
		return err
	}
	if !s.Task.NotBefore.IsZero() && s.Standing() == "" {
		t.print(screen.Fact("waits", "until %s", s.Task.NotBefore.Format(time.RFC3339)))
	}
	t.print(screen.Told(&s.Task)...)
	if a := m.Yes; a != nil {
		late := ""
		if m.Outlook != nil && m.Outlook.Limit != "" {
			late = ", and longer by the time for which a limit keeps it"
		}
		t.print(screen.Fact("approved", "by %s (%s), good until %s%s", a.By, a.Level, a.Expires.Format(time.RFC3339), late))
	}
	if err := errors.Join(t.result(), t.proposed()); err != nil {
		return err
	}
	t.history()
	t.print(screen.Next(&s, m)...)
	if t.policy != nil && s.Record != nil {
		t.print(explain.Of(report.Subject(&s, t.policy)).Brief()...)
	}
	return nil
}

// result tells what the worker printed. If that can't be read, the rest of the task is still worth
// telling.
func (t *teller) result() error {
	result, err := queue.ResultOf(t.v, t.id)
	if errors.Is(err, store.ErrCorrupt) {
		t.print(screen.Fact("result", "%v", err))
		err = nil
	}
	t.print(screen.Quote("result", string(result))...)
	return err
}

// moment finds out what the next steps depend on.
func (t *teller) moment(s *queue.Stored) (*screen.Moment, error) {
	limits := &policy.Default().Limits
	if t.policy != nil {
		limits = &t.policy.Limits
	}
	m := &screen.Moment{Now: t.now, Where: t.where, Expires: limits.Expiry(s.Task.Since, s.Task.Told).Sub(s.Task.Since)}
	for i := range t.lines {
		if l := &t.lines[i]; l.Task == s.Task.ID && l.Event != audit.Resurfaced {
			m.Last = l
			if l.End != nil || l.Event == task.Started {
				m.End = l.End
			}
			if l.Event == task.Added { // a later digest is that of a file that was edited
				m.Digest = l.Digest
			}
		}
	}
	var err error
	if m.Held, err = queue.Held(t.v); err != nil {
		return m, err
	}
	if m.Lost, err = t.v.Lost(); err != nil {
		return m, err
	}
	if m.Yes, err = queue.ApprovalOf(t.v, s.Task.ID); err != nil && !errors.Is(err, store.ErrCorrupt) {
		return m, err
	}
	if m.Wants, err = t.wants(s); err != nil {
		return m, err
	}
	if s.Task.State == task.Running {
		m.Runner, m.Elsewhere = t.runner(s.Task.ID), t.runs.Elsewhere(s.Task.ID)
	}
	if t.policy == nil || s.Task.State != task.Scheduled || s.Record == nil {
		return m, nil
	}
	run := queue.Run{Policy: t.policy, Max: t.policy.Limits.MaxPerRun, World: workspace.World{}, Blind: true, Schema: t.schema, Holder: t.holders}
	if s.Kind() == task.Effect {
		run.Effect = s.Decision.Action
	}
	o, err := run.Outlook(t.v, s, t.now)
	m.Outlook = &o
	return m, err
}

// wants says whose yes a task waits for, where not everyone's counts or one is not enough.
func (t *teller) wants(s *queue.Stored) (string, error) {
	if s.Task.State != task.Awaiting || s.Record == nil {
		return "", nil
	}
	return (&queue.Run{Policy: cmp.Or(t.policy, policy.Default()), Blind: true, Holder: t.holders}).Wants(t.v, s, t.now)
}

// runner returns the process id of the command that runs a task; 0 if none does; -1 if that
// can't be told, because a snapshot has no locks and other accounts can't read them.
func (t *teller) runner(id string) int {
	if !t.runs.Visible() {
		return -1
	}
	if t.dead(id) {
		return 0
	}
	if pid, err := t.runs.Runner(id); err == nil {
		return pid
	}
	return -1
}
