package main

import (
	"github.com/urfave/cli/v2"

	"pulse/lib/queue/door"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

// snapshot copies the queue for accounts that may read it and change nothing.
func snapshot(c *cli.Context, s door.Store) error {
	g, err := group(c, "worker-group")
	if err != nil {
		return err
	}
	return s.Snapshot(c.Args().First(), g)
}

// copyTo copies a queue that is on hold from a directory to a server, or back.
func copyTo(c *cli.Context, from door.Store) error {
	to := c.String("to")
	if to == "" {
		return fault.Usagef("pulse-queue copy --to QUEUE", "copy needs --to")
	}
	if flat := from.Keeper().Dir != nil; flat == cmdline.Served(to) {
		return door.Copy(c.Context, from, to)
	}
	return fault.Usagef("cp -a copies a directory at rest, pg_dump a database", "copy goes from a directory to a server, or back")
}
