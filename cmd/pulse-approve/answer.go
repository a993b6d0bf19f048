package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/cmdline"
	"pulse/lib/fault"
	"pulse/lib/queue"
	"pulse/lib/task"
)

func yes(c *cli.Context) error {
	return answer(c, "approve this", func(tx queue.Tx, shown *queue.Stored) error {
		return queue.Approve(tx, shown, cmdline.User(), cmdline.Level, time.Now())
	})
}

func no(c *cli.Context) error {
	reason := c.String("reason")
	if reason == "" {
		return fault.Usagef("pulse-approve no "+c.Args().First()+" --reason 'not wanted'", "no needs --reason")
	}
	return answer(c, "refuse this", func(tx queue.Tx, shown *queue.Stored) error {
		return queue.Deny(tx, shown, cmdline.User(), cmdline.Level, reason, time.Now())
	})
}

// answer asks about a task that waits, and records the answer.
func answer(c *cli.Context, verb string, record func(queue.Tx, *queue.Stored) error) error {
	desk, err := cmdline.Sit(c)
	if err != nil {
		return err
	}
	defer desk.Close()
	return desk.Ask(c.Args().First(), cmdline.Question{Verb: verb, May: awaits, Record: record})
}

func awaits(s *queue.Stored) error {
	if s.Task.State == task.Awaiting {
		return nil
	}
	return fault.Failedf("pulse-queue show "+s.Task.ID, "task %s awaits nobody: it is %s", s.Task.ID, s.Task.State)
}
