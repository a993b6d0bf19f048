package main

import (
	"github.com/urfave/cli/v2"

	"pulse/lib/cmdline"
)

// snapshot copies the queue for accounts that may read it and change nothing.
func snapshot(c *cli.Context) error {
	s, err := cmdline.Queue(c)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Snapshot(c.Args().First())
}
