package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/clock"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
)

// page is what a digest is made of. It holds nothing of a message except, for people who
// ask for it, its subject.
type page struct {
	now, since time.Time
	policy     *policy.Policy // the defaults if none was named
	subjects   bool
	clock      clock.Clock // what the queue makes of now

	figures figures // what stats counts
	open    pending
	drafts  drafted
	past    past
	health  looked
	named   bool    // a policy was
	habits  []habit // of which only a page of a digest tells
	columns int     // that tell for whom a task is
}

func digest(c *cli.Context, s door.Store) error {
	now := time.Now()
	since, err := since(c.String("since"), now)
	if err != nil {
		return err
	}
	p, err := newPage(c, s, now, since)
	if err != nil {
		return err
	}
	if _, err := door.Confine(c, s); err != nil {
		return err
	}
	if p.named {
		p.past.month = newMonth(now, math.MaxInt)
	}
	if err := p.read(c, s); err != nil {
		return err
	}
	if p.named && !p.past.torn {
		err = p.readHabits(s)
	}
	out := cmdline.Output(c)
	for _, l := range p.lines(environment(c)) {
		fmt.Fprintln(out, l)
	}
	return errors.Join(err, out.Flush(), p.past.broken)
}

// newPage reads the flags, and finds out what a confined command could not.
func newPage(c *cli.Context, s door.Store, now, since time.Time) (p *page, err error) {
	p = &page{now: now, since: since, subjects: c.Bool("subjects"), named: c.String("policy") != "", columns: digestWhose}
	if p.health.accepted, err = acceptedCodes(c); err != nil {
		return nil, err
	}
	if p.policy, err = cmdline.PolicyOrDefault(c); err != nil {
		return nil, err
	}
	if names := lacks(s); len(names) > 0 && s.Writable() == nil {
		return nil, fault.Failedf(cmdline.Where(c).Command("pulse-queue health"),
			"the queue has no directory %s", strings.Join(names, ", "))
	}
	p.drafts.flat = s.Keeper().Dir != nil
	p.health.survey(c, s, p.policy)
	return p, nil
}

// read collects the page. What is open, and what lies beside it, is as it was at one
// moment; the log is read after that, because it may be long.
func (p *page) read(c *cli.Context, s door.Store) error {
	err := s.View(func(v store.View) error {
		p.figures = figures{now: p.now}
		if err := p.figures.count(v); err != nil {
			return err
		}
		if err := p.readOpen(v); err != nil {
			return err
		}
		if err := p.drafts.read(v); err != nil {
			return err
		}
		return p.past.readPositions(v)
	})
	if err != nil {
		return err
	}
	p.past.since, p.past.clock = p.since, p.clock
	if err := p.health.look(&both{s, &p.past, c.Context}); err != nil {
		return err
	}
	if p.past.refused == nil { // health did not come to it
		_ = p.past.read(c.Context, s, nil) // what fails is noted
	}
	return c.Context.Err()
}

// both is the queue for health, and reads the log for the page on the way: most of the time
// that a digest takes is for that.
type both struct {
	door.Store
	past *past
	ctx  context.Context
}

// History is called once for the newest lines, and again for tasks that were put off.
func (b *both) History(fn func(audit.Line) (more bool), events ...task.Event) error {
	if b.past.refused != nil {
		return b.Store.History(fn, events...)
	}
	return b.past.read(b.ctx, b.Store, fn)
}
