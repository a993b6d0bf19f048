package main

import (
	"bufio"
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

func list(c *cli.Context) error {
	now := time.Now()
	f, err := newFilter(c, now)
	if err != nil {
		return err
	}
	f.whole = c.Bool("json")
	var p *policy.Policy
	if c.String("policy") != "" {
		if p, err = cmdline.Policy(c); err != nil {
			return err
		}
	}
	s, err := door.Enter(c)
	if err != nil {
		return err
	}
	defer s.Close()
	wait, err := limiter(s, p, now)
	if err != nil {
		return err
	}
	out := cmdline.Output(c)
	row := func(s *queue.Stored) error { return record.WriteLine(out, append(line(s), '\n')) }
	if !c.Bool("json") {
		row = f.rows(out, now)
	}
	err = f.each(s, func(t *queue.Stored) error {
		wait(t)
		return cmp.Or(c.Context.Err(), row(t))
	})
	return errors.Join(err, out.Flush())
}

// limiter returns what says of a scheduled task which limit of a policy keeps it from starting, and
// until when. Without a policy nobody knows.
func limiter(s queue.Store, p *policy.Policy, now time.Time) (wait func(*queue.Stored), err error) {
	if p == nil {
		return func(*queue.Stored) {}, nil
	}
	pace, err := queue.Read(s, func(v queue.View) (*queue.Pace, error) { return queue.PaceOf(v, p, now) })
	return func(t *queue.Stored) {
		if t.Task.State == task.Scheduled && t.Record != nil {
			t.Task.Limit, t.Task.Until = pace.Until(t)
		}
	}, err
}

// rows prints the head of the table, and returns what prints a row. Where refused records are
// listed, the reason stands before the subject.
func (f *filter) rows(out *bufio.Writer, now time.Time) func(*queue.Stored) error {
	tab, why := table{out, listColumns}, len(listColumns)-1
	head := []string{"ID", "STATE", "KIND", "AGE", "TRUST", "ACTION", "SENDER", "SUBJECT"}
	if !f.refused {
		tab.row(head...)
		return func(s *queue.Stored) error { return tab.row(cells(s, now)...) }
	}
	tab.widths = slices.Insert(slices.Clone(listColumns), why, 18)
	tab.row(slices.Insert(head, why, "REASON")...)
	return func(s *queue.Stored) error {
		return tab.row(slices.Insert(cells(s, now), why, orDash(escape.ASCII(s.Task.Reason)))...)
	}
}

// listColumns are the widths of the columns: what is longer moves the rest of its
// line. They are the same in every listing, and nothing has to be kept for them.
var listColumns = []int{32, 15, 6, 8, 22, 16, 24, 0}

// line returns the record of a task, or its `task` member alone if the file can't be read.
func line(s *queue.Stored) []byte {
	if s.Record != nil {
		return s.Line()
	}
	var o record.Object
	o.Raw(task.Member, s.Task.Append(nil))
	return o.Bytes()
}

func cells(s *queue.Stored, now time.Time) []string {
	return []string{
		s.Task.ID, stateOf(&s.Task), orDash(string(s.Task.Kind)),
		age(now, s.Task.Created) + later(&s.Task, now),
		orDash(string(s.Identity.Trust)), orDash(escape.ASCII(string(s.Decision.Action))),
		orDash(cut(escape.ASCII(s.Identity.Sender), 40)), cut(escape.Line(subject(s)), 60),
	}
}

// later is how long a task waits until its time, or for which limit, after its age.
func later(t *task.Task, now time.Time) string {
	if t.Limit == "" || t.Until.Before(t.NotBefore) {
		return ahead(now, t.NotBefore)
	}
	return ahead(now, t.Until) + " by " + t.Limit
}

// subject is what a task is about, for people: a mail's subject, an effect's
// targets, a submitted text.
func subject(s *queue.Stored) string {
	switch {
	case s.Record == nil:
		return "the task file can't be read"
	case s.Shown != nil:
		return s.Shown.Subject
	case s.Request != nil && len(s.Request.Target) > 0:
		return "to " + strings.Join(s.Request.Target, ", ")
	case s.Request != nil:
		return s.Request.Text()
	}
	return ""
}
