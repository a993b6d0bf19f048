package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/spool"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// hold stops every run. Twice is the same as once.
func hold(c *cli.Context, s door.Store) error {
	err := queue.Update(s, func(tx *queue.Tx) error {
		if held, err := queue.Holding(tx); held != nil || err != nil {
			return err
		}
		return tx.Log(audit.Line{Time: time.Now().UTC(), Event: audit.Held, By: cmdline.User()})
	})
	if err != nil && s.Keeper().Dir != nil && fault.HintOf(err) == "" {
		hint := "touch " + escape.Shell(spool.HoldFile(c.String("queue"))) + " holds it too"
		return fault.Temporaryf(hint+"; and this hold may come into effect once there is room", "%w", err)
	}
	return err
}

// release ends a hold. A queue that lacks lines stays stopped, and release says so.
func release(c *cli.Context) error {
	if c.IsSet("was") && !c.Bool("restored") {
		return fault.Usagef("pulse-queue release --restored --was DIR", "--was needs --restored")
	}
	if c.Bool("clock") && c.Bool("restored") {
		return fault.Usagef("pulse-queue release --clock, and then the other", "--clock and --restored ask two questions")
	}
	if c.Bool("clock") {
		return releaseClock(c)
	}
	if c.Bool("restored") {
		return releaseRestored(c)
	}
	s, err := desk.EnterOutside(c)
	if err != nil {
		return err
	}
	defer s.Close()
	lost := ""
	err = queue.Update(s, func(tx *queue.Tx) (err error) {
		if lost, err = tx.Lost(); err != nil {
			return err
		}
		return lift(tx)
	})
	if err == nil && lost != "" {
		cmdline.Warn(c,
			"still nothing starts: the queue is not as it was: %s (pulse-queue release --restored)", lost)
	}
	return err
}

// lift ends a hold, if there is one.
func lift(tx *queue.Tx) error {
	if held, err := queue.Holding(tx); held == nil || err != nil {
		return err
	}
	return tx.Log(audit.Line{Time: time.Now().UTC(), Event: audit.Released, By: cmdline.User()})
}
