package main

import (
	"errors"
	"math"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/shared/audit"
)

// statsPage writes the page for people who look. It names senders, so that a file is for
// this account alone.
func statsPage(c *cli.Context, s door.Store) error {
	to := target{"html", c.Args().First(), "pulse.html", private}
	now := time.Now()
	month := newMonth(now, math.MaxInt)
	p, err := newPage(c, s, now, month.from)
	if err != nil {
		return err
	}
	if err := to.confine(c, s); err != nil {
		return err
	}
	p.past.month, p.also = month, p.beside
	if err := p.read(c, s); err != nil {
		return err
	}
	sheet := p.sheet()
	for _, flag := range []string{"queue", "policy"} {
		if line := export(c, flag); line != "" {
			sheet.Exports = append(sheet.Exports, line)
		}
	}
	page, err := sheet.html()
	if err == nil {
		err = to.write(c, page)
	}
	return errors.Join(err, p.past.broken)
}

// beside reads what a digest does not need: who waits, not in lines, and the last line of
// the log.
func (p *page) beside(v queue.View) error {
	p.waiters, p.last = nil, time.Time{}
	_, err := each(v, p.open.waiting.list, func(e *timed, s *queue.Stored) []string {
		p.waiters = append(p.waiters, p.waiter(e, s))
		return nil
	})
	if err != nil {
		return err
	}
	_ = v.Back(func(l audit.Line) bool { // what can't be read of the log is noted when all is read
		p.last = l.Time
		return false
	})
	return nil
}
