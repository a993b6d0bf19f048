package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/cmd/pulse-queue/dispatch"
	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// submit makes an ask of the person at the keyboard.
func submit(c *cli.Context, s door.Store) error {
	action, err := cmdline.Choice(c, "action", terms.Actions)
	if err == nil && action == "" {
		err = fault.Usagef("--action read_public, or another", "submit needs --action")
	}
	if err != nil {
		return err
	}
	at, err := notBefore(c, time.Now())
	if err != nil {
		return err
	}
	p, err := cmdline.PolicyOrDefault(c)
	if err != nil {
		return err
	}
	standing, err := standingName(c, s)
	if err != nil {
		return err
	}
	rec, err := submitted(action, c.Args().First(), standing, func(in decision.Input) decision.Decision {
		in.Policy = p
		return decision.Decide(in)
	})
	if err != nil {
		return err
	}
	batch := queue.NewBatch(s, s.TakesUnsafe(), p.Limits.PendingPerSender, time.Now)
	batch.NotBefore = at
	keep, err := newKeeping(c, s, p)
	if err != nil {
		return err
	}
	keep.ask(batch)
	if err := stands(rec, standing); err != nil {
		return err
	}
	if err := batch.Put(rec); err != nil {
		return err
	}
	return batch.Commit(func(line []byte) error {
		_, err := c.App.Writer.Write(append(line, '\n'))
		return err
	})
}

// standingName reads --standing: a name that no open ask has.
func standingName(c *cli.Context, s store.Store) (name string, err error) {
	name = c.String("standing")
	switch {
	case !c.IsSet("standing"):
		return "", nil
	case queue.StandingName(name) != nil:
		return "", fault.Usagef("", "--standing: %w", queue.StandingName(name))
	case c.IsSet("at"):
		return "", fault.Usagef("", "--standing and --at exclude each other: a standing ask is never started")
	case c.Args().First() == "":
		return "", fault.Usagef(dispatch.StandingHint, "a standing ask needs a TEXT: its agent reads it")
	}
	var had *queue.Stored
	err = s.View(func(v store.View) error {
		had, err = queue.StandingOf(v, name)
		return err
	})
	if err == nil && had != nil {
		err = fault.Failedf("pulse-queue cancel "+had.Task.ID, "there is a standing ask %s already", name)
	}
	return name, err
}

// stands fails if a standing ask is not simply allowed: nobody would see that it waits for a yes.
func stands(rec *record.Record, name string) error {
	if name == "" {
		return nil
	}
	var d decision.Decision
	err := rec.Decode(decision.Member, func(v record.Value) (err error) {
		d, err = decision.Decode(v)
		return err
	})
	if err == nil && d.Outcome != terms.Allow {
		err = fault.Refusedf("--action read_public, or pulse-authorize matrix",
			"a standing ask has to be allowed, and the policy makes of this %s: %s", d.Outcome, d.Why)
	}
	return err
}

// notBefore reads --at: a time, the next time that the clock on the wall shows it,
// or how long from now. Without the flag it is zero.
func notBefore(c *cli.Context, now time.Time) (time.Time, error) {
	text := c.String("at")
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if ahead, ok := strings.CutPrefix(text, "+"); ok {
		var d time.Duration
		d, err = duration.Parse(ahead)
		at = now.Add(d)
	} else if clock, e := time.Parse("15:04", text); e == nil && len(text) == len("15:04") {
		at, err = next(clock, now), nil
	}
	switch {
	case err != nil:
		return at, fault.Usagef("--at 2026-11-21T07:30:00Z, --at 07:30 or --at +2h", "--at: %s is no time", text)
	case !at.After(now):
		return at, fault.Usagef("without --at it may start at once", "--at: %s is past", text)
	case at.Year() > lastYear:
		return at, fault.Usagef("", "--at: %s is after the year %d", text, lastYear)
	}
	return at.UTC(), nil
}

// lastYear is the last year whose times all fit into the agenda.
const lastYear = 2285

// next returns when a wall clock in now's time zone shows a time again.
func next(clock, now time.Time) time.Time {
	for days := 0; ; days++ {
		t := time.Date(now.Year(), now.Month(), now.Day()+days, clock.Hour(), clock.Minute(), 0, 0, now.Location())
		if t.After(now) {
			return t
		}
	}
}

func submitted(
	action terms.Action, text, standing string, decide func(decision.Input) decision.Decision,
) (*record.Record, error) {
	var args, req, all record.Object
	args.Str("text", text)
	args.StrIf(queue.StandingArg, standing)
	req.Str("action", string(action))
	req.Raw("args", args.Bytes())
	who := identity.Identity{
		Sender: fmt.Sprintf("uid:%d", os.Getuid()), Trust: terms.System, Verified: true, Via: identity.ViaSubmit,
		Reason: identity.LocalSubmit, Why: "a user of this machine submitted it",
	}
	r, err := request.Decode(record.Value(req.Bytes()))
	if err != nil {
		return nil, err
	}
	d := decide(decision.Input{Identity: &who, Request: &r})
	all.Raw(request.Member, req.Bytes())
	all.Raw(identity.Member, who.Append(nil))
	all.Raw(decision.Member, d.Append(nil))
	return record.Parse(all.Bytes(), queue.Members...)
}
