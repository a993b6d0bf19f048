package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// The bounds of a digest, which is about one screen.
const (
	digestWaiting = 10             // tasks that wait for a person are named
	digestSome    = 3              // lines of a section that only counts the rest
	digestSoon    = 48 * time.Hour // is soon enough to say that a task expires
	digestWhose   = digestWidth - len("  9999 code_or_computer ")
)

// pending is what the agenda says, and the lines about the tasks that are named. There may
// be a hundred thousand open tasks: no files are read but those of the named ones.
type pending struct {
	waiting, expiring, later nearest
	lost                     string // what the queue lacks of what was committed
	waiters                  []waiter
	ends, putOffs            []string
}

// nearest keeps the n entries with the earliest times, and counts all.
type nearest struct {
	n, all int
	list   []timed
}

type timed struct {
	store.Entry
	at time.Time
}

func (x *nearest) add(e store.Entry, at time.Time) {
	x.all++
	i := len(x.list)
	for i > 0 && x.list[i-1].at.After(at) {
		i--
	}
	if i < x.n {
		x.list = slices.Insert(x.list, i, timed{e, at})
		x.list = x.list[:min(len(x.list), x.n)]
	}
}

// readOpen reads what is open.
func (p *Page) readOpen(v store.View) (err error) {
	p.open = pending{waiting: nearest{n: digestWaiting}, expiring: nearest{n: digestSome}, later: nearest{n: digestSome}}
	o := &p.open
	if o.lost, err = v.Lost(); err != nil {
		return err
	}
	if p.clock, err = queue.ClockOf(v, p.Now); err != nil {
		return err
	}
	err = v.Open("", func(e store.Entry) (bool, error) {
		waits := e.Waits(p.Now)
		e.Since = p.clock.Of(e.Since)
		switch {
		case e.State == task.Awaiting:
			o.waiting.add(e, e.Since)
			if end := p.Policy.Limits.Expiry(e.Since, time.Time{}); end.Sub(p.Now) < digestSoon {
				o.expiring.add(e, end)
			}
		case e.State == task.Scheduled && waits && !e.Stands():
			o.later.add(e, e.NotBefore)
		}
		return true, nil
	})
	if err == nil {
		o.waiters, err = each(v, o.waiting.list, p.waiterOf)
	}
	if err == nil {
		o.ends, err = each(v, o.expiring.list, p.expiryLine)
	}
	if err == nil {
		o.putOffs, err = each(v, o.later.list, putOffLine)
	}
	return err
}

// each loads tasks, and returns what is said of them. s is nil for a task whose file can't be
// read.
func each[T any](v store.View, list []timed, about func(e *timed, s *queue.Stored) T) (all []T, err error) {
	for i := range list {
		e := &list[i]
		s, err := queue.Load(v, e.State, e.ID)
		switch {
		case errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrUnknown):
			all = append(all, about(e, nil))
		case err != nil:
			return nil, err
		default:
			all = append(all, about(e, &s))
		}
	}
	return all, nil
}

// waiter is a task that waits for a person, in words that were escaped.
type waiter struct{ Since, Age, Action, Whose, Subject, Command string }

// waiterOf describes a task that waits for a person.
func (p *Page) waiterOf(e *timed, s *queue.Stored) waiter {
	w := waiter{
		Since: e.at.UTC().Format(time.RFC3339), Age: duration.Span(p.Now.Sub(e.at)), Action: escape.ASCII(string(e.Action)),
		Whose: "its file can't be read", Command: "pulse-queue show " + e.ID,
	}
	if s == nil {
		return w
	}
	w.Whose, w.Command = whose(s, p.columns), "pulse-approve yes "+e.ID
	if p.Subjects {
		w.Subject = escape.Clip(escape.Line(Topic(s)), sheetSubject)
	}
	return w
}

// whose says in so many columns for whom a task is, where it goes, and what a person has to
// know before the answer.
func whose(s *queue.Stored, columns int) string {
	marks := ""
	if !s.Task.Told.IsZero() {
		marks += "; told again"
	}
	if s.Task.Reason == queue.ReasonUnknownEffect || s.Task.Reason == queue.ReasonRestored {
		marks += "; may have happened"
	}
	if t := s.Identity.Trust; (t == terms.Unknown || t == terms.OwnerClaim) && !s.Identity.Verified {
		marks += "; not proven"
	}
	columns -= len(marks)
	sender, targets := escape.ASCII(cmp.Or(s.Identity.Sender, "-")), s.Target()
	if len(targets) == 0 {
		return escape.Clip(sender, columns) + marks
	}
	more := ""
	if len(targets) > 1 {
		more = fmt.Sprintf(" and %d more", len(targets)-1)
	}
	sender = escape.Clip(sender, columns/2) + " to "
	return sender + escape.Clip(escape.ASCII(targets[0]), columns-len(sender)-len(more)) + more + marks
}

// Topic returns the subject of a task, for people who asked for it.
func Topic(s *queue.Stored) string {
	switch {
	case s.Shown != nil:
		return s.Shown.Subject
	case s.Request == nil:
		return ""
	case s.Identity.Effect():
		return proposal.Arg(s.Request.Args, "subject")
	}
	return s.Request.Text()
}

func (p *Page) waiting() []string {
	w := &p.open.waiting
	if w.all == 0 {
		return nil
	}
	lines := []string{titled("waiting", cmdline.Count(w.all, "task")+" for a person, the oldest first")}
	for _, a := range p.open.waiters {
		lines = append(lines, fmt.Sprintf("  %4s %-16s %s", a.Age, a.Action, a.Whose))
		if a.Subject != "" {
			lines = append(lines, "       | "+escape.Clip(a.Subject, digestWidth-len("       | ")))
		}
		lines = append(lines, "       "+a.Command)
	}
	return append(lines, w.rest("pulse-queue list --state awaiting_review")...)
}

// rest says how many entries are not named, and how to see them.
func (x *nearest) rest(command string) []string {
	if x.all == len(x.list) {
		return nil
	}
	return []string{fmt.Sprintf("  and %d more: %s", x.all-len(x.list), command)}
}

// expiryLine returns the line about a task that expires soon. It does not expire before a person was
// told once more, which may happen now.
func (p *Page) expiryLine(e *timed, s *queue.Stored) string {
	told := p.Now
	if s != nil && !s.Task.Told.IsZero() {
		told = p.clock.Of(s.Task.Told)
	}
	at := p.Policy.Limits.Expiry(e.Since, told).UTC().Format(time.RFC3339)
	return fmt.Sprintf("  %s %-16s %s", at, escape.ASCII(string(e.Action)), e.ID)
}

func (p *Page) expiring() []string {
	n := p.open.expiring.all
	if n == 0 {
		return nil
	}
	return append([]string{titled("expires", fmt.Sprintf("%d within two days, at the earliest", n))}, p.open.ends...)
}
