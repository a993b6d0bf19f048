package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/door"
	"pulse/lib/queue/report"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// digest tells the day on one page.
func digest(c *cli.Context, s door.Store) error {
	now := time.Now()
	since, err := cmdline.Since(c, now)
	if err != nil {
		return err
	}
	a, err := asked(c, s, now)
	if err != nil {
		return err
	}
	if _, err := door.Confine(c, s); err != nil {
		return err
	}
	a.Since = since
	p, err := report.Day(c.Context, s, a)
	if p == nil {
		return err
	}
	out := cmdline.Output(c)
	for _, l := range p.Lines(exports(c)) {
		fmt.Fprintln(out, l)
	}
	return errors.Join(err, out.Flush())
}

// asked reads the flags of a page, and finds out what a confined command could not.
func asked(c *cli.Context, s door.Store, now time.Time) (a report.Asked, err error) {
	a = report.Asked{Now: now, Subjects: c.Bool("subjects"), Named: c.String("policy") != "", Flat: s.Keeper().Dir != nil}
	if a.Accepted, err = acceptedCodes(c); err != nil {
		return a, err
	}
	if a.Policy, err = cmdline.PolicyOrDefault(c); err != nil {
		return a, err
	}
	blind := s.Writable() // a copy has no workers, and no sources
	if names := lacks(s); len(names) > 0 && blind == nil {
		return a, fault.Failedf(cmdline.Where(c).Command("pulse-queue health"),
			"the queue has no directory %s", strings.Join(names, ", "))
	}
	if blind == nil {
		blind = patiences(c, &a.Facts, a.Accepted)
	}
	if blind == nil {
		blind = survey(c, &a.Facts, s, a.Policy)
	}
	if blind != nil {
		a.Blind = blind.Error()
	}
	return a, nil
}

// exports returns the lines that set the variables of the queue and the policy, each with its name.
func exports(c *cli.Context) (list [][2]string) {
	for _, flag := range []string{"queue", "policy"} {
		if path, err := cmdline.Absolute(c.String(flag)); err == nil && path != "" {
			list = append(list, [2]string{flag, "export PULSE_" + strings.ToUpper(flag) + "=" + escape.Message(escape.Shell(path))})
		}
	}
	return list
}
