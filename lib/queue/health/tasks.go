package health

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// some collects the findings of one code, and names the first ones.
type some struct {
	list []Finding
	all  int
}

func (s *some) add(f Finding) {
	if s.all++; s.all <= named {
		s.list = append(s.list, f)
	}
}

// findings returns the named findings, and one more that counts the rest and says how to
// see them.
func (s *some) findings(code Code, do string) []Finding {
	if more := s.all - len(s.list); more > 0 {
		s.list = append(s.list, Finding{Code: code, About: "more", Text: fmt.Sprintf("and %d more", more), Do: do})
	}
	return s.list
}

// listOf returns the command that lists the tasks in a state.
func listOf(st task.State) string { return "pulse-queue list --state " + string(st) }

// late counts the tasks that are due and not started: asks, or effects with one action.
type late struct {
	oldest string
	since  time.Duration
	n      int
}

// open looks at the tasks that wait or run. later holds those that may have been put off.
func (f *brakes) open(v store.View) (list []Finding, later []store.Entry, err error) {
	w := walk{
		brakes: f, v: v, there: map[task.State]func(string) bool{},
		reads: map[bool]bool{}, due: map[terms.Action]*late{},
	}
	for _, st := range []task.State{task.Scheduled, task.Awaiting, task.Running} {
		if w.there[st], err = v.There(store.On(st)); err != nil {
			return nil, nil, err
		}
	}
	err = v.Open("", func(e store.Entry) (bool, error) { return true, w.task(&e) })
	if err != nil {
		return nil, nil, err
	}
	return w.found(), w.later, nil
}

// walk is a look at each open task.
type walk struct {
	*brakes
	v     store.View
	there map[task.State]func(id string) bool

	later                                []store.Entry // that may have been put off
	waiting, abandoned, missing, ungated some
	unread                               late
	due                                  map[terms.Action]*late
	order                                []terms.Action // of due

	looked, read int
	reads        map[bool]bool // whether an external's task, or another, waits for a reader: the last that was looked at
}

// task looks at a task.
func (w *walk) task(e *store.Entry) error {
	gone, err := isGone(w.v, e, w.there[e.State])
	if err != nil {
		return err
	}
	if mayBePutOff(e) {
		w.later = append(w.later, *e)
	}
	if gone {
		w.missing.add(Finding{
			Code: codeMissing, Task: e.ID, Do: "pulse-queue verify",
			Text: fmt.Sprintf("task %s (%s %s) is %s, and its file is gone", e.ID, e.Kind, e.Action, e.State),
		})
		return nil
	}
	switch age := w.since(e.Since); {
	case e.State == task.Awaiting:
		return w.awaits(e, age)
	case e.State == task.Running && age > maxOrphan && w.Dead(e.ID):
		w.abandoned.add(Finding{
			Code: codeAbandoned, Task: e.ID, Do: runs(key(e)),
			Text: fmt.Sprintf("task %s (%s %s) was started %s ago, and nobody runs it", e.ID, e.Kind, e.Action, duration.Span(age)),
		})
	case e.State == task.Scheduled:
		return w.starts(e)
	}
	return nil
}

// awaits looks at a task that waits for a person.
func (w *walk) awaits(e *store.Entry, age time.Duration) error {
	if e.Kind == task.Ask && w.looked < maxLooked {
		w.looked++
		if found, err := isUngated(w.v, e); err != nil {
			return err
		} else if found != nil {
			w.ungated.add(*found)
			return nil
		}
	}
	if age > w.MaxWaiting {
		w.waiting.add(Finding{
			Code: Waiting, Task: e.ID, Do: "pulse-approve yes " + e.ID,
			Text: fmt.Sprintf("task %s (%s %s) has waited for a person for %s", e.ID, e.Kind, e.Action, duration.Span(age)),
		})
	}
	return nil
}

// starts looks at a task that waits for its start.
func (w *walk) starts(e *store.Entry) error {
	idle, err := w.idle(w.v, e)
	if err != nil {
		return err
	}
	if w.Unread != nil && idle > maxUnread && (e.External || w.read < maxLooked) {
		w.read++
		if w.reads[e.External], err = w.Unread(w.v, e); err != nil {
			return err
		}
	}
	// Somebody starts it, if only in vain. Where it waits for a reader, no worker is missing,
	// however long it waits.
	idle = min(idle, w.tried(sideFor(key(e), w.reads[e.External]), w.Now))
	k := key(e)
	switch {
	case idle > maxUnread && w.reads[e.External]:
		w.unread.add(e, w.late(e))
	case idle > w.MaxWaiting:
		if w.due[k] == nil {
			w.due[k] = &late{}
			w.order = append(w.order, k)
		}
		w.due[k].add(e, w.late(e))
	}
	return nil
}

// found returns what was found.
func (w *walk) found() []Finding {
	list := slices.Concat(
		w.waiting.findings(Waiting, listOf(task.Awaiting)),
		w.abandoned.findings(codeAbandoned, listOf(task.Running)),
		w.ungated.findings(codeUngated, listOf(task.Awaiting)),
		w.missing.findings(codeMissing, "pulse-queue verify"),
	)
	if w.unread.n > 0 {
		list = append(list, w.unread.unread())
	}
	for _, k := range w.order {
		list = append(list, w.due[k].finding(k))
	}
	return append(list, w.findings()...)
}

// maxLooked bounds the asks that wait for a person and are looked at more closely, and the
// scheduled tasks whose files say whether they wait for a reader: the last one stands for the rest.
const maxLooked = 2000

// isUngated finds an ask whose client did not ask about what it did.
func isUngated(v store.View, e *store.Entry) (*Finding, error) {
	s, err := queue.LoadUnlabelled(v, e.State, e.ID)
	switch {
	case errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCorrupt):
		return nil, nil // verify says so
	case err != nil || s.Task.Reason != queue.ReasonUngated:
		return nil, err
	}
	return &Finding{
		Code: codeUngated, Task: e.ID, Do: "pulse-queue show " + e.ID,
		Text: fmt.Sprintf("task %s (%s %s): its client used a tool that nobody was asked about", e.ID, e.Kind, e.Action),
	}, nil
}

// isGone reports whether an open task has no file in any state. Almost all lie where they
// should. Only for the others does it search the other states.
func isGone(v store.View, e *store.Entry, lies func(id string) bool) (bool, error) {
	if lies(e.ID) {
		return false, nil
	}
	st, err := v.Where(e.ID)
	return st == "", err
}

// late returns for how long a scheduled task could have been started.
func (f *Facts) late(e *store.Entry) time.Duration {
	switch {
	case e.Waits(f.Now) || e.Stands():
		return 0
	case e.NotBefore.After(e.Since) && e.PutOff:
		return f.Now.Sub(e.NotBefore)
	case e.NotBefore.After(e.Since):
		return f.since(e.NotBefore)
	}
	return f.since(e.Since)
}

// key returns the action with which run starts a task; empty for an ask.
func key(e *store.Entry) terms.Action {
	if e.Kind == task.Effect {
		return e.Action
	}
	return ""
}

// runs returns the command that starts effects with an action, or asks.
func runs(effect terms.Action) string {
	if effect == "" {
		return "pulse-queue run -- CMD"
	}
	return fmt.Sprintf("pulse-queue run --effect %s -- CMD", effect)
}

func (l *late) add(e *store.Entry, since time.Duration) {
	if l.n++; since > l.since {
		l.oldest, l.since = e.ID, since
	}
}

func (l *late) finding(effect terms.Action) Finding {
	text := fmt.Sprintf("task %s was due %s ago, and nobody starts it", l.oldest, duration.Span(l.since))
	if l.n > 1 {
		text = fmt.Sprintf("%d tasks are due, the first one (%s) since %s, and nobody starts them",
			l.n, l.oldest, duration.Span(l.since))
	}
	return Finding{Code: codeOverdue, Task: l.oldest, About: cmp.Or(string(effect), "asks"), Text: text, Do: runs(effect)}
}

func (l *late) unread() Finding {
	text := fmt.Sprintf("task %s has waited for a reader for %s, and no worker starts before that", l.oldest, duration.Span(l.since))
	if l.n > 1 {
		text = fmt.Sprintf("%d tasks wait for a reader, the first one (%s) for %s, and no worker starts before that",
			l.n, l.oldest, duration.Span(l.since))
	}
	return Finding{
		Code: codeUnread, Task: l.oldest, About: "asks", Text: text,
		Do: "pulse-queue show " + l.oldest + "; or if nothing reads: READER in /etc/pulse/environment (Accounts in man 7 pulse-deploy)",
	}
}

// untaken finds that what workers proposed is not taken: no outbox line runs, or something
// between it and add drops records.
func (f *Facts) untaken(v store.View) ([]Finding, error) {
	u, err := queue.UntakenOf(v)
	if age := f.since(u.Since); u.All == 0 || err != nil || age <= maxUntaken {
		return nil, err
	}
	text := fmt.Sprintf("nobody took the proposal of task %s for %s", u.Parent, duration.Span(f.since(u.Since)))
	if u.All > 1 {
		text = fmt.Sprintf("%d proposals are not taken, those of task %s for %s", u.All, u.Parent, duration.Span(f.since(u.Since)))
	}
	do := "pulse-queue outbox | pulse-authorize | pulse-queue add"
	return []Finding{{Code: codeUntaken, Task: u.Parent, About: "proposals", Text: text, Do: do}}, nil
}

// poison finds the tasks in a state, failed or corrupt, that a person should look at.
// Asks that failed as all starts do are told with that. Nobody asks for an effect again: one that a
// person agreed to and that did not happen is told by itself.
func (p *past) poison(v store.View, st task.State) ([]Finding, error) {
	code, text := codeFailed, "task %s has failed for good"
	if st == task.Corrupt {
		code, text = codeCorrupt, "task %s can't be read"
	}
	n := v.Counts().Tasks[st]
	if n == 0 {
		return nil, nil
	}
	var s some
	err := v.Each(store.On(st), func(id string, _ time.Time) (bool, error) {
		with := slices.ContainsFunc(p.streaks, func(s streak) bool { return (s.side == asks || s.side == readers) && s.Tasks[id] })
		s.add(Finding{Code: code, Task: id, Text: fmt.Sprintf(text, id), Do: "pulse-queue show " + id, with: with})
		return s.all < named, nil
	})
	s.all = max(n, s.all)
	return s.findings(code, listOf(st)), err
}
