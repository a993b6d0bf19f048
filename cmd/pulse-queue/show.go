package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/audit"
	"pulse/lib/cmdline"
	"pulse/lib/escape"
	"pulse/lib/fault"
	"pulse/lib/queue"
	"pulse/lib/screen"
)

func show(c *cli.Context) error {
	s, err := cmdline.QueueOrNew(c)
	if err != nil {
		return err
	}
	defer s.Close()
	out := bufio.NewWriter(c.App.Writer)
	err = s.View(func(v queue.View) error {
		stored, err := queue.Find(v, c.Args().First())
		if errors.Is(err, queue.ErrUnknown) {
			return fault.Failedf("pulse-queue list --all", "%w", err)
		}
		if err != nil && !errors.Is(err, queue.ErrCorrupt) {
			return err
		}
		if c.Bool("json") {
			_, err = out.Write(append(line(&stored), '\n'))
			return err
		}
		return story(out, v, &stored)
	})
	return errors.Join(err, out.Flush())
}

// story prints what a person wants to know of a task: what it is, what came of it
// and what happened to it.
func story(w io.Writer, v queue.View, s *queue.Stored) error {
	lines := []string{screen.Fact("task", "%s", s.Task.ID), screen.Fact("state", "%s: its file can't be read", s.Task.State)}
	if s.Record != nil {
		lines = screen.Task(s, time.Now())
	}
	if !s.Task.NotBefore.IsZero() {
		lines = append(lines, screen.Fact("waits", "until %s", s.Task.NotBefore.Format(time.RFC3339)))
	}
	a, err := v.Approval(s.Task.ID)
	if err != nil {
		return err
	}
	if a != nil {
		lines = append(lines, screen.Fact("approved", "by %s (%s), good until %s", a.By, a.Level, a.Expires.Format(time.RFC3339)))
	}
	result, err := v.Result(s.Task.ID)
	if err != nil {
		return err
	}
	lines = append(lines, screen.Quote("result", string(result))...)
	for _, l := range lines {
		fmt.Fprintln(w, l)
	}
	return history(w, v, s.Task.ID)
}

// history prints what the audit log says of a task, oldest first.
func history(w io.Writer, v queue.View, id string) error {
	var told []string
	err := v.History(func(l audit.Line) bool {
		if l.Task != id {
			return true
		}
		text := fmt.Sprintf("%s %s", l.Time.Format(time.RFC3339), l.Event)
		if l.To != "" {
			text += " -> " + string(l.To)
		}
		if l.Change.Reason != "" {
			text += " (" + l.Change.Reason + ")"
		}
		if l.By != "" {
			text += fmt.Sprintf(" by %s, level %s", l.By, l.Level)
		}
		told = append(told, escape.Message(text))
		return true
	})
	slices.Reverse(told)
	fmt.Fprintln(w, "history")
	for _, t := range told {
		fmt.Fprintln(w, "  "+t)
	}
	return err
}
