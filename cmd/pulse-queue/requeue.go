package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// requeue puts tasks that have ended back, once a person said yes to each.
func requeue(c *cli.Context) error {
	d, err := desk.Sit(c, desk.Yes)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Each(c.Args().Slice(), desk.Question{
		Verb: "do this again", May: ended, Caution: queue.Happened,
		Yes: func(tx *queue.Tx, shown *queue.Stored, yes approval.Approval) error {
			return queue.Requeue(tx, shown, yes, time.Now())
		},
	})
}

func ended(s *queue.Stored) error {
	if queue.Requeueable(s) == nil {
		return nil
	}
	hint := "pulse-queue show " + s.Task.ID
	if s.Task.State == task.Awaiting {
		hint = "pulse-approve yes " + s.Task.ID
	}
	return fault.Failedf(hint, "task %s has not ended: it is %s", s.Task.ID, s.Task.State)
}
