package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/cmdline"
	"pulse/lib/envelope"
	"pulse/lib/escape"
	"pulse/lib/fault"
	"pulse/lib/queue"
	"pulse/lib/record"
	"pulse/lib/task"
)

func list(c *cli.Context) error {
	states, err := listed(c)
	if err != nil {
		return err
	}
	s, err := cmdline.QueueOrNew(c)
	if err != nil {
		return err
	}
	defer s.Close()
	out := bufio.NewWriter(c.App.Writer)
	row, end := table(out)
	if c.Bool("json") {
		row, end = lines(out)
	}
	err = s.View(func(v queue.View) error { return each(v, states, row) })
	return errors.Join(err, end(), out.Flush())
}

// listed returns the states asked for.
func listed(c *cli.Context) ([]task.State, error) {
	if c.IsSet("state") {
		if c.Bool("all") {
			return nil, fault.Usagef("", "--all and --state exclude each other")
		}
		var list []task.State
		for word := range strings.SplitSeq(c.String("state"), ",") {
			if !slices.Contains(task.States, task.State(word)) {
				return nil, fault.Usagef("man 5 pulse-queue", "--state: there is no state %s", word)
			}
			list = append(list, task.State(word))
		}
		return list, nil
	}
	if c.Bool("all") {
		return task.States, nil
	}
	return slices.DeleteFunc(slices.Clone(task.States), func(s task.State) bool { return !s.Open() }), nil
}

// each calls row for every task in the states, oldest first in each.
func each(v queue.View, states []task.State, row func(*queue.Stored) error) error {
	for _, st := range states {
		err := v.Scan(st, func(id string) (bool, error) {
			s, err := v.Load(st, id)
			if errors.Is(err, queue.ErrCorrupt) {
				err = nil // shown with the little that is known
			}
			if err == nil {
				err = row(&s)
			}
			return true, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func lines(w *bufio.Writer) (row func(*queue.Stored) error, end func() error) {
	return func(s *queue.Stored) error { return record.WriteLine(w, append(line(s), '\n')) }, w.Flush
}

// line returns the record of a task; of one that can't be read, its `task` member.
func line(s *queue.Stored) []byte {
	if s.Record != nil {
		return s.Line()
	}
	var o record.Object
	o.Raw(task.Member, s.Task.Append(nil))
	return o.Bytes()
}

// table prints one line a task; the subject, which may be in any script, comes last.
func table(w io.Writer) (row func(*queue.Stored) error, end func() error) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	now := time.Now()
	fmt.Fprintln(tab, "ID\tSTATE\tKIND\tAGE\tTRUST\tACTION\tSENDER\tSUBJECT")
	return func(s *queue.Stored) error {
		_, err := fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Task.ID, s.Task.State, orDash(string(s.Task.Kind)),
			age(now, s.Task.Created), orDash(string(s.Identity.Trust)), orDash(escape.ASCII(string(s.Decision.Action))),
			orDash(cut(escape.ASCII(s.Identity.Sender), 40)), cut(escape.Line(subject(s)), 60))
		return err
	}, tab.Flush
}

// subject is what a task is about, for people: a mail's subject, an effect's
// targets, a submitted text.
func subject(s *queue.Stored) string {
	switch {
	case s.Record == nil:
		return "the task file can't be read"
	case s.Message != nil:
		v, err := s.Record.Get(envelope.Member)
		if err != nil {
			return ""
		}
		shown, _ := envelope.Show(v)
		return shown.Subject
	case s.Request != nil && len(s.Request.Target) > 0:
		return "to " + strings.Join(s.Request.Target, ", ")
	case s.Request != nil:
		return s.Request.Text()
	}
	return ""
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// cut shortens s to n characters.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// age is how long ago t was, in one unit: 12s, 5m, 3h, 2d.
func age(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	switch d := now.Sub(t); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}
