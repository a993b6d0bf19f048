package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
)

func yes(c *cli.Context) error {
	if c.IsSet("signature") {
		return signedAnswer(c, false)
	}
	d, err := desk.Sit(c, desk.Yes)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.All(c.Args().Slice(), approving())
}

func no(c *cli.Context) error {
	if c.IsSet("signature") {
		return signedAnswer(c, true)
	}
	reason := c.String("reason")
	ids, sender, err := desk.Named(c)
	if err != nil {
		return err
	}
	if reason == "" {
		return fault.Usagef("pulse-approve no "+c.Args().First()+" --reason 'not wanted'", "no needs --reason")
	}
	return refuseAll(c, ids, sender, reason)
}

// correct puts an effect that a person has changed in an editor in the place of one that waits.
func correct(c *cli.Context) error {
	d, err := desk.Sit(c, desk.Correcting)
	if err != nil {
		return err
	}
	defer d.Close()
	shown, _, err := d.Look(c.Args().First())
	if err == nil {
		err = awaits(&shown)
	}
	if err != nil {
		return err
	}
	as, err := d.Correct(&shown)
	if err == nil {
		err = d.Note(as.Task.ID)
	}
	return err
}

// approving is the question whose answer is yes.
func approving() desk.Question {
	return desk.Question{Verb: "approve this", May: awaits, Pages: true, Agree: true}
}

// refusing is the question whose answer is no.
func refusing(reason string, level approval.Level) desk.Question {
	return desk.Question{
		Verb: "refuse this", May: awaits,
		Record: func(tx *queue.Tx, shown *queue.Stored) error {
			return queue.Deny(tx, shown, cmdline.User(), level, reason, time.Now())
		},
	}
}

// revising is refusing with a reason that its agent is told, who does it otherwise.
func revising(reason string, level approval.Level, limits *policy.Limits) desk.Question {
	q := refusing(reason, level)
	q.Record = func(tx *queue.Tx, shown *queue.Stored) error {
		return queue.Revise(tx, shown, cmdline.User(), level, reason, limits, time.Now())
	}
	return q
}

func awaits(s *queue.Stored) error {
	if s.Task.State == task.Awaiting {
		return nil
	}
	return fault.Failedf("pulse-queue show "+s.Task.ID,
		"task %s awaits nobody: it is %s", s.Task.ID, s.Task.State)
}
