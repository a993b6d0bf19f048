package main

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approval"
	"pulse/lib/cmdline"
	"pulse/lib/fault"
	"pulse/lib/queue"
	"pulse/lib/screen"
	"pulse/lib/spool"
	"pulse/lib/task"
	"pulse/lib/tty"
)

// level is what this command can prove of the person it asked.
const level = approval.Terminal

func yes(c *cli.Context) error {
	return answer(c, "approve this", func(tx queue.Tx, shown *queue.Stored) error {
		return queue.Approve(tx, shown, cmdline.User(), level, time.Now())
	})
}

func no(c *cli.Context) error {
	reason := c.String("reason")
	if reason == "" {
		return fault.Usagef("pulse-approve no "+c.Args().First()+" --reason 'not wanted'", "no needs --reason")
	}
	return answer(c, "refuse this", func(tx queue.Tx, shown *queue.Stored) error {
		return queue.Deny(tx, shown, cmdline.User(), level, reason, time.Now())
	})
}

// answer shows a task that waits, asks, and records the answer if the task is
// still the one that was shown.
func answer(c *cli.Context, verb string, record func(queue.Tx, *queue.Stored) error) error {
	s, t, err := open(c)
	if err != nil {
		return err
	}
	defer s.Close()
	defer t.Close()
	var shown queue.Stored
	err = s.View(func(v queue.View) (err error) {
		shown, err = queue.Find(v, c.Args().First())
		return err
	})
	if err != nil {
		return unknown(err)
	}
	if shown.Task.State != task.Awaiting {
		return fault.Failedf("pulse-queue show "+shown.Task.ID, "task %s awaits nobody: it is %s", shown.Task.ID, shown.Task.State)
	}
	if err := confirm(c, t, screen.Task(&shown, time.Now()), verb); err != nil {
		return err
	}
	err = s.Update(func(tx queue.Tx) error { return record(tx, &shown) })
	if errors.Is(err, queue.ErrConflict) {
		return fault.Refusedf("pulse-queue show "+shown.Task.ID, "%w", err)
	}
	return err
}

func unknown(err error) error {
	if errors.Is(err, queue.ErrUnknown) {
		return fault.Failedf("pulse-queue list", "%w", err)
	}
	return err
}

// open opens the queue and the terminal of a person, and makes sure that the
// level this command can give is enough for the policy.
func open(c *cli.Context) (*spool.Spool, *tty.Terminal, error) {
	p, err := cmdline.PolicyOrDefault(c)
	if err != nil {
		return nil, nil, err
	}
	if approval.Level(p.Approval.Require) != level {
		return nil, nil, fault.Usagef("man 5 pulse-policy", "%s: approval.require is %s, and this version can only give %s", p.Name, p.Approval.Require, level)
	}
	s, err := cmdline.Queue(c)
	if err != nil {
		return nil, nil, err
	}
	if err := cmdline.RefuseInside(c.String("queue")); err != nil {
		s.Close()
		return nil, nil, err
	}
	t, err := tty.Open()
	if err != nil {
		s.Close()
		return nil, nil, fault.Refusedf("run it at a terminal: there is no other way to say yes", "%w", err)
	}
	return s, t, nil
}

func confirm(c *cli.Context, t *tty.Terminal, lines []string, verb string) error {
	if err := t.Confirm(c.Context, screen.Fold(lines, t.Columns()), verb); err != nil {
		return fault.Refusedf("", "%w", err)
	}
	return nil
}
