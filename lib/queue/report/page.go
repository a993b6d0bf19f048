// Package report sums a queue up for people and for monitoring: the figures of stats, the page of a digest
// and the page of stats --html, made of the same values.
//
// Invariant: what is kept of a queue and its log is bounded, whatever they hold, and what comes from outside
// is escaped. Caveat: what the queue does not know of itself, such as its disk, is for the command to find out.
package report

import (
	"context"
	"errors"
	"math"
	"time"

	"pulse/lib/queue/clock"
	"pulse/lib/queue/health"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
)

// Asked says what a page is to tell, and what the queue does not say of itself.
type Asked struct {
	Now, Since time.Time
	Policy     *policy.Policy // the defaults if none was named
	Named      bool           // a policy was
	Subjects   bool           // of what waits for a person
	Flat       bool           // drafts lie in a directory of the queue
	Accepted   []health.Code  // findings that are not told
	Facts      health.Facts
	Blind      string // why health can't be looked at
}

// Page is what a digest is made of, and the page of stats --html. It holds nothing of a message except, for
// people who ask for it, its subject.
type Page struct {
	Asked
	clock clock.Clock // what the queue makes of now

	figures Figures // what stats counts
	open    pending
	drafts  drafted
	past    past
	health  healthFound
	habits  []habit // of which only a digest tells
	columns int     // that tell for whom a task is
}

// Store is the queue that a page tells of.
type Store interface {
	health.Queue
	VerifyChain() (*store.Report, error)
	LogSize() int64
}

// Day reads the page of a digest. With a page, an error says what is not on it.
func Day(ctx context.Context, s Store, a Asked) (*Page, error) {
	p := &Page{Asked: a, columns: digestWhose}
	if a.Named {
		p.past.month = newMonth(a.Now, math.MaxInt)
	}
	if err := p.read(ctx, s); err != nil {
		return nil, err
	}
	var err error
	if a.Named && !p.past.torn {
		err = p.readHabits(s)
	}
	return p, errors.Join(err, p.past.broken)
}

// Month reads the page of stats --html. With a page, an error says what is not on it.
func Month(ctx context.Context, s Store, a Asked) (*Page, error) {
	p := &Page{Asked: a, columns: sheetWhose}
	p.past.month = newMonth(a.Now, math.MaxInt)
	p.Since = p.past.month.from
	if err := p.read(ctx, s); err != nil {
		return nil, err
	}
	return p, p.past.broken
}

// read collects the page. What is open, and what lies beside it, is as it was at one
// moment; the log is read after that, because it may be long.
func (p *Page) read(ctx context.Context, s Store) error {
	err := s.View(func(v store.View) error {
		p.figures = Figures{now: p.Now}
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
	p.past.since, p.past.clock = p.Since, p.clock
	if err := p.readHealth(&tee{s, &p.past, ctx}); err != nil {
		return err
	}
	if p.past.refused == nil { // health did not come to it
		_ = p.past.read(ctx, s, nil) // what fails is noted
	}
	return ctx.Err()
}

// tee is the queue for health, and reads the log for the page on the way: most of the time
// that a digest takes is for that.
type tee struct {
	Store
	past *past
	ctx  context.Context
}

// History is called once for the newest lines, and again for tasks that were put off.
func (b *tee) History(fn func(audit.Line) (more bool), events ...task.Event) error {
	if b.past.refused != nil {
		return b.Store.History(fn, events...)
	}
	return b.past.read(b.ctx, b.Store, fn)
}
