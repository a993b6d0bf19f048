package main

import (
	"cmp"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// requeue puts tasks that have ended back, once a person said yes: to all asks at once, and
// to each effect that reaches the outside.
func requeue(c *cli.Context) error {
	ids, sender, err := desk.Named(c)
	if err != nil {
		return err
	}
	states, err := endedStates(c, sender)
	if err != nil {
		return err
	}
	d, err := desk.Sit(c, desk.Yes)
	if err != nil {
		return err
	}
	defer d.Close()
	if sender != "" {
		if ids, err = d.Of(sender, states...); err == nil && len(ids) == 0 {
			err = fault.Failedf("pulse-queue list --all --sender "+string(sender), "nothing of %s is %s", sender, cmp.Or(c.String("state"), string(task.Failed)))
		}
	}
	if err != nil {
		return err
	}
	return d.All(ids, desk.Question{
		Verb: "do this again", May: ended, Caution: queue.Happened, Alone: (*queue.Stored).Outward,
		Yes: func(tx *queue.Tx, shown *queue.Stored, yes approval.Approval) error {
			return queue.Requeue(tx, shown, yes, time.Now())
		},
	})
}

// endedStates returns the states in which --sender looks for tasks.
func endedStates(c *cli.Context, sender queue.Sender) ([]task.State, error) {
	switch {
	case !c.IsSet("state"):
		return []task.State{task.Failed}, nil
	case sender == "":
		return nil, fault.Usagef("--sender ADDR --state "+c.String("state"), "--state needs --sender")
	}
	return cmdline.Choices(c, "state", []task.State{task.Completed, task.Rejected, task.Failed})
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
