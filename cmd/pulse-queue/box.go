package main

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/box"
	"pulse/lib/queue/way"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/sandbox"
)

var errNotAlone = errors.New("this process is not the command's own")

// inBox becomes a box. Its errors are those of scripts/box.
func inBox(c *cli.Context) error {
	if !cmdline.Own(c) {
		return errNotAlone
	}
	return cmdline.Said(c, "box", box.Start(c.Args().Slice()))
}

// boxed is process 1 of a box.
func boxed(c *cli.Context) error {
	switch {
	case !cmdline.Own(c):
		return errNotAlone
	case !c.Args().Present():
		return fault.Usagef("pulse-queue box --help", "boxed is started by pulse-queue box")
	}
	status, err := box.Become(c.Args().Slice())
	if err != nil {
		return cmdline.Said(c, "box", err)
	}
	return cmdline.Ended(status)
}

// boxedOnce is process 1 of the box of an effect.
func boxedOnce(c *cli.Context) error {
	if !cmdline.Own(c) {
		return errNotAlone
	}
	status, err := box.BecomeOnce(c.Args().Slice())
	if err != nil {
		return cmdline.Said(c, "box", err)
	}
	return cmdline.Ended(status)
}

// untilIdle is how long a way out that systemd has started waits for another connection. Systemd
// starts it again.
const untilIdle = time.Minute

func wayOut(c *cli.Context) error {
	w, err := way.To(c.Args().First(), c.Bool("plain"))
	if err != nil {
		return err
	}
	if c.IsSet("owner") && !c.IsSet("listen") {
		return fault.Usagef("", "--owner goes with --listen")
	}
	listen, idle := way.Handed, untilIdle
	if c.IsSet("listen") {
		listen, idle = func() (*way.Socket, error) { return way.Listen(c.String("listen"), c.String("owner")) }, 0
	}
	l, err := listen()
	if err != nil {
		return err
	}
	if _, err := cmdline.Confine(c, sandbox.Way(w.Port())); err != nil {
		return err
	}
	w.Say = func(format string, args ...any) { cmdline.Note(c, format, args...) }
	return way.Serve(l, idle, w.Lead)
}
