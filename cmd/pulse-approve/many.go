package main

import (
	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// refuseAll asks once whether to refuse tasks, or all of a sender that wait for a person.
func refuseAll(c *cli.Context, ids []string, sender queue.Sender, reason string) error {
	d, err := desk.Sit(c, desk.No)
	if err != nil {
		return err
	}
	defer d.Close()
	if sender != "" {
		if ids, err = d.Of(sender, task.Awaiting); err == nil && len(ids) == 0 {
			err = fault.Failedf("pulse-queue list --state "+string(task.Awaiting), "nothing of %s waits for a person", sender)
		}
	}
	if err != nil {
		return err
	}
	return d.All(ids, refusing(reason, d.Level))
}
