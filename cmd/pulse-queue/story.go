package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"pulse/lib/audit"
	"pulse/lib/policy"
	"pulse/lib/queue"
	"pulse/lib/runner"
	"pulse/lib/screen"
	"pulse/lib/task"
	"pulse/lib/workspace"
)

// teller tells a task's story.
type teller struct {
	v      queue.View
	id     string
	out    strings.Builder // bounded by one task
	policy *policy.Policy  // nil: none was named
	now    time.Time
	where  screen.Where // for the commands that are suggested
	locks  runner.Dir
	dead   func(id string) bool // whether nobody runs a task
	lines  []audit.Line         // about the task, and about what it proposed
}

// read reads what there is to tell of the task whose id begins so, or prints its record.
func (t *teller) read(s queue.Store, prefix string, json bool) error {
	id, err := whole(s, prefix)
	if err != nil {
		return err
	}
	t.id = id
	for range 8 { // a task that is moved by hand never is where the log has it
		if json {
			return s.View(func(v queue.View) error { return t.look(v, (*teller).json) })
		}
		if t.lines, err = about(s, id); err != nil {
			return err
		}
		again := false
		err = s.View(func(v queue.View) error {
			return t.look(v, func(t *teller, st task.State) error {
				again = st != t.logged()
				return t.tell(st)
			})
		})
		if err != nil || !again {
			return err
		}
	}
	return nil
}

// look calls fn with the state of the task in v.
func (t *teller) look(v queue.View, fn func(*teller, task.State) error) error {
	t.v = v
	t.out.Reset()
	st, err := v.State(t.id)
	if err != nil {
		return err
	}
	return fn(t, st)
}

// logged returns the state that the lines leave the task in.
func (t *teller) logged() (st task.State) {
	for i := range t.lines {
		if l := &t.lines[i]; l.Task == t.id && l.Moves() {
			st = l.To
		}
	}
	return st
}

// tell tells the story of a task in a state.
func (t *teller) tell(st task.State) error {
	if st == "" {
		return t.gone(t.id)
	}
	return t.task(st, t.id)
}

func (t *teller) print(lines ...string) {
	for _, l := range lines {
		fmt.Fprintln(&t.out, l)
	}
}

func (t *teller) json(st task.State) error {
	if st == "" {
		return fmt.Errorf("%w: %s has no file", queue.ErrUnknown, t.id)
	}
	s, err := t.v.Load(st, t.id)
	if err != nil && !errors.Is(err, queue.ErrCorrupt) {
		return err
	}
	t.print(string(line(&s)))
	return nil
}

// gone tells of a task that has no file: it was refused, or pruned, or the file is missing.
func (t *teller) gone(id string) error {
	last, err := t.v.Pruned(id)
	if err != nil {
		return err
	}
	var l *audit.Line
	for i := range t.lines {
		if t.lines[i].Task == id {
			l = &t.lines[i]
		}
	}
	if l == nil {
		return fmt.Errorf("%w: %s", queue.ErrUnknown, id)
	}
	t.print(screen.Gone(l, last, t.logged())...)
	t.history()
	t.print(screen.After(l, last, t.logged(), t.where)...)
	return nil
}

// task tells what a task is, what came of it, what happened to it and what next.
func (t *teller) task(st task.State, id string) error {
	s, err := t.v.Load(st, id)
	switch {
	case errors.Is(err, queue.ErrCorrupt):
		t.print(screen.Fact("task", "%s", id), screen.Fact("state", "%s: its file can't be read", st), screen.Fact("because", "%v", err))
	case err != nil:
		return err
	default:
		t.print(screen.Task(&s, t.now)...)
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
	if !s.Task.NotBefore.IsZero() {
		t.print(screen.Fact("waits", "until %s", s.Task.NotBefore.Format(time.RFC3339)))
	}
	if a := m.Yes; a != nil {
		t.print(screen.Fact("approved", "by %s (%s), good until %s", a.By, a.Level, a.Expires.Format(time.RFC3339)))
	}
	result, err := t.v.Result(id)
	switch {
	case errors.Is(err, queue.ErrCorrupt): // that is no reason to say nothing of the task
		t.print(screen.Fact("result", "%v", err))
	case err != nil:
		return err
	}
	t.print(screen.Quote("result", string(result))...)
	if err := t.proposed(id); err != nil {
		return err
	}
	t.history()
	t.print(screen.Next(&s, m)...)
	return nil
}

// moment finds out what the next steps depend on.
func (t *teller) moment(s *queue.Stored) (*screen.Moment, error) {
	m := &screen.Moment{Now: t.now, Where: t.where, Expires: policy.Default().Limits.ReviewExpires}
	if t.policy != nil {
		m.Expires = t.policy.Limits.ReviewExpires
	}
	for i := range t.lines {
		if l := &t.lines[i]; l.Task == s.Task.ID {
			m.Last = l
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
	if m.Yes, err = t.v.Approval(s.Task.ID); err != nil && !errors.Is(err, queue.ErrCorrupt) {
		return m, err
	}
	if s.Task.State == task.Running {
		m.Runner = t.runner(s.Task.ID)
	}
	if t.policy == nil || s.Task.State != task.Scheduled || s.Record == nil {
		return m, nil
	}
	run := queue.Run{Policy: t.policy, Max: t.policy.Limits.MaxPerRun, World: workspace.World{}, Blind: true}
	if s.Kind() == task.Effect {
		run.Effect = s.Decision.Action
	}
	o, err := run.Outlook(t.v, s, t.now)
	m.Outlook = &o
	return m, err
}

// runner returns the process id of what runs a task; 0: nobody does; below 0: that
// can't be told, for a snapshot has no locks and another account can't read them.
func (t *teller) runner(id string) int {
	if _, err := os.Stat(string(t.locks)); err != nil {
		return -1
	}
	if t.dead(id) {
		return 0
	}
	if pid, err := t.locks.Runner(id); err == nil {
		return pid
	}
	return -1
}

// history prints what the audit log says of a task.
func (t *teller) history() {
	t.print("history")
	var h repeated
	for i := range t.lines {
		if l := &t.lines[i]; !t.child(l) {
			t.print(h.add(l.Time, happened(l)+t.noted(l))...)
		}
	}
	t.print(h.end()...)
}

// happened is a line of the log in words.
func happened(l *audit.Line) string {
	text := string(l.Event)
	if l.To != "" {
		text += " -> " + string(l.To)
	}
	if l.Change.Reason != "" {
		text += " (" + l.Change.Reason + ")"
	}
	switch l.Event {
	case task.Retried, task.Restored, task.GaveUp, task.Undecided, task.Restarted:
		text += fmt.Sprintf(", attempts %d, restarts %d", l.Change.Attempts, l.Change.Restarts)
	case task.Parked, task.Dropped, task.Refused:
		text += fmt.Sprintf(", %s by %s", l.Outcome, l.Rule)
	}
	if g := l.Grant; g != nil && l.Event == audit.Consumed {
		text += " grant " + g.ID
	}
	if !l.Change.NotBefore.IsZero() {
		text += ", not before " + l.Change.NotBefore.Format(time.RFC3339)
	}
	if l.Account != "" {
		text += " as " + l.Account
	}
	if l.By != "" {
		text += " by " + l.By
	}
	if l.Level != "" {
		text += ", level " + string(l.Level)
	}
	if l.Count > 0 {
		text += fmt.Sprintf(": %d proposals", l.Count)
	}
	return text
}
