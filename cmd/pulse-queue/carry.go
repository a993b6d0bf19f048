package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/pinfile"
	"pulse/lib/queue/carry"
	"pulse/lib/shared/cmdline"
)

// The exit statuses by which a sender says that nothing happened.
const (
	nothingWill = 69 // EX_UNAVAILABLE
	notNow      = 75 // EX_TEMPFAIL
)

// carryOut carries out one effect, or becomes the program that carries out what it does not.
func carryOut(c *cli.Context) error {
	line, err := io.ReadAll(io.LimitReader(cmdline.Stdin(c, 0, func() error { return nil }), maxAsk+1))
	if err == nil && len(line) > maxAsk {
		err = fmt.Errorf("the record is longer than %d bytes", maxAsk)
	}
	if err != nil {
		return carried(c, notStarted(err))
	}
	p, err := cmdline.Policy(c)
	if err != nil {
		return carried(c, notStarted(err))
	}
	accepted, err := pinfile.Load(p.Name)
	if err != nil {
		return carried(c, notStarted(err))
	}
	by := carry.Carrier{Policy: p, Pins: accepted, RO: c.StringSlice("ro"), RW: c.StringSlice("rw"), Env: c.StringSlice("env")}
	out, err := by.Run(c.Context, line)
	if errors.Is(err, carry.ErrOther) {
		return carried(c, other(c, line))
	}
	if err != nil {
		return carried(c, err)
	}
	_, err = c.App.Writer.Write(out)
	return err
}

// carried says how it ended, by a status of senders and the one line that a task keeps.
func carried(c *cli.Context, err error) error {
	status := 1
	switch {
	case err == nil:
		return nil
	case errors.Is(err, carry.ErrLater):
		status = notNow
	case errors.Is(err, carry.ErrNotDone):
		status = nothingWill
	}
	cmdline.Note(c, "%v", err)
	return cmdline.Ended(status)
}

var errOther = errors.New("there is no CMD for other effects: pulse-queue carry -- CMD")

// other becomes the CMD of what is carried out elsewhere.
func other(c *cli.Context, line []byte) error {
	err := errOther
	if argv := c.Args().Slice(); len(argv) > 0 {
		err = carry.Become(argv, line)
	}
	return notStarted(err)
}

// notStarted says that nothing happened, on the one line that a task keeps.
func notStarted(err error) error { return fmt.Errorf("%w: %w", carry.ErrLater, err) }
