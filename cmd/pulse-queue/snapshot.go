package main

import (
	"github.com/urfave/cli/v2"

	"pulse/lib/queue/door"
)

// snapshot copies the queue for accounts that may read it and change nothing.
func snapshot(c *cli.Context) error {
	s, err := door.Queue(c)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Snapshot(c.Args().First())
}
