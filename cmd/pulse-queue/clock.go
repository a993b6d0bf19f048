package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/approve/screen"
	"pulse/lib/queue"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/health"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// releaseClock asks a person whether the clock is right that the queue does not believe.
func releaseClock(c *cli.Context) error {
	d, err := desk.Sit(c, desk.No)
	if err != nil {
		return err
	}
	defer d.Close()
	clock, err := clockOf(d.Queue)
	if err != nil {
		return err
	}
	if !doubtful(&clock) {
		cmdline.Note(c, "the queue believes this clock: nothing was changed")
		return nil
	}
	if err := d.Confirm(unbelieved(c, &clock), "believe this clock"); err != nil {
		return err
	}
	return queue.Update(d.Queue, func(tx *queue.Tx) error {
		return queue.Confirm(tx, audit.Line{By: cmdline.User(), Level: d.Level}, time.Now())
	})
}

// doubtful reports whether a person has a reason to vouch for a clock: the queue does not believe it,
// or health tells that it may have jumped ahead.
func doubtful(c *clock.Clock) bool {
	told := !c.To.IsZero() && !c.Back() && c.Jump.By == "" && c.Now.Sub(c.To) < health.Lately
	return told || !c.Confirmed
}

// clockOf returns what a queue makes of this machine's clock.
func clockOf(s store.Store) (clock.Clock, error) {
	return store.Read(s, func(v store.View) (clock.Clock, error) { return queue.ClockOf(v, time.Now()) })
}

// unbelieved returns the sheet about a clock that is not believed.
func unbelieved(c *cli.Context, clock *clock.Clock) []string {
	return []string{
		"queue    " + escape.ASCII(c.String("queue")),
		screen.Fact("now", "%s", clock.Now.Format(time.RFC3339)),
		screen.Fact("jumped", "%s", jumped(clock)),
		screen.Fact("caution", "%s", "what has waited long enough by this clock expires, and is forgotten"),
	}
}

// jumped says how a clock jumped.
func jumped(clock *clock.Clock) string {
	way := "ahead"
	if clock.Back() {
		way = "back"
	}
	return fmt.Sprintf("%s %s, from %s to %s", duration.Span(clock.To.Sub(clock.From).Abs()), way,
		clock.From.UTC().Format(time.RFC3339), clock.To.UTC().Format(time.RFC3339))
}

// unsure returns why a command that was to remove what is old removed nothing, or nil.
func unsure(c *cli.Context, s store.Store) error {
	clock, err := clockOf(s)
	if err != nil || clock.Confirmed {
		return err
	}
	return cmdline.Standing(c, fault.Temporaryf("run it again in an hour or, if date is right: pulse-queue release --clock",
		"nothing was removed: the clock jumped %s", jumped(&clock)))
}
