// Package pull reads a mailbox on a server that names its messages and gives them one at a time,
// as those do that are asked over HTTPS (lib/fetch/jmap, lib/fetch/gmail): which messages are
// wanted, in which order, and what happens if the server fails on one of them.
//
// Invariant: messages come oldest first, each with a position such that a run that begins there
// misses none, as long as no message gets into the mailbox more than five minutes later than its
// time says. One message never stops a mailbox. Caveat: a run may give again what an earlier one
// gave; the queue recognises it.
package pull

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"pulse/lib/fetch/https"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/fault"
)

// Item is a message as a list names it.
type Item struct {
	ID       string // letters, digits, - and _
	Received time.Time
	Blob     string // what Box needs to get it
	Size     int64  // bytes, as the list says

	UIDValidity, UID uint32 // the position after it, UID 0 if there is none
	Joined           bool   // it belongs to one change with the item before, so no limit parts them

	// Missing is set if the list names it and the server says no more of it. It was then received at
	// Received or later, and no later than Until if that is known.
	Missing bool
	Until   time.Time
}

// Box is a mailbox on a server. Lists may be in any order.
type Box interface {
	Open(context.Context) error
	Newest(ctx context.Context, n int) ([]Item, error)          // n or more of the newest
	Since(ctx context.Context, t time.Time) ([]Item, error)     // all received at t or later
	Get(ctx context.Context, it *Item, m *source.Message) error // sets Raw, and Received if the list did not
}

// Mark is a position that a server counts up.
type Mark struct{ High, Low uint32 } // High is below 1<<31

// History is implemented by a Box whose server keeps a history of what got into the mailbox.
type History interface {
	Now(context.Context) (Mark, error)
	After(ctx context.Context, m Mark) ([]Item, error) // in that order, or ErrExpired
}

var (
	ErrExpired = errors.New("the server's history does not go back so far") // from History.After
	ErrGone    = errors.New("the message is gone")                          // from Box.Get, after it was listed
	ErrSkip    = errors.New("the message is not in the mailbox")            // from Box.Get: it need not be
)

// Mailbox is a source.Source. Its messages have the source Name.
type Mailbox struct {
	Name   string
	Client *https.Client
	Box    Box
	From   source.Start

	// Pause is called before the server is asked for a message. Its error ends the run. It may be
	// nil.
	Pause func() error
}

// Each implements source.Source. If messages vanish while they are listed or fetched, the error is
// temporary and counts them, after all others were yielded.
func (s *Mailbox) Each(ctx context.Context, yield func(*source.Message) error) error {
	defer s.Client.Close()
	r := run{Mailbox: s, ctx: ctx, yield: yield}
	err := r.all()
	var ours yielded
	switch {
	case err == nil && r.missing > 0:
		return fault.Temporaryf("run again; the next run begins before them",
			"%s: %d messages vanished while they were listed", s.Name, r.missing+r.vanished)
	case err == nil && r.vanished > 0:
		return fault.Temporaryf("run again; the next run goes on after them",
			"%s: %d messages vanished while they were fetched", s.Name, r.vanished)
	case err == nil:
		return nil
	case errors.As(err, &ours):
		return ours.error
	}
	return s.explain(ctx, err)
}

// yielded is an error of yield, which Each returns as it is.
type yielded struct{ error }

// explain gives an error its class and says what to type.
func (s *Mailbox) explain(ctx context.Context, err error) error {
	var classed *fault.Error
	var status *https.Status
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &classed):
		return fmt.Errorf("%s: %w", s.Name, err)
	case !errors.As(err, &status):
		return fault.Temporaryf("", "%s: %w", s.Name, err)
	}
	switch hint := ""; {
	case status.Code == http.StatusUnauthorized:
		return source.Refused{Err: fault.Failedf("get a new token, or check the password; it must be for this account",
			"%s: the server refuses the login (401)", s.Name)}
	case status.Code == http.StatusForbidden:
		return source.Refused{Err: fault.Failedf("the token must allow to read mail", "%s: %w", s.Name, err)}
	case status.Code == http.StatusTooManyRequests, status.Code >= 500:
		if status.After > 0 {
			hint = fmt.Sprintf("run again in %v", status.After)
		}
		return fault.Temporaryf(hint, "%s: %w", s.Name, err)
	}
	return fault.Failedf("pulse-fetch(1) says how the source is written", "%s: %w", s.Name, err)
}

const (
	maxSuspects  = 10 // in a row
	maxWitnesses = 10 // messages that are tried to find one that the server serves
)

// run is one run.
type run struct {
	*Mailbox
	ctx      context.Context
	yield    func(*source.Message) error
	vanished int       // after they were listed
	missing  int       // before
	suspects []suspect // messages on which the server failed twice; not yielded yet
	items    []Item
}

type suspect struct {
	item Item
	why  error
}

func (r *run) all() error {
	if err := r.Box.Open(r.ctx); err != nil {
		return err
	}
	p, err := r.plan(r.ctx)
	if err != nil {
		return err
	}
	r.items, r.missing = p.items, p.missing
	for i := range p.items {
		if err := r.one(&p.items[i]); err != nil {
			return err
		}
	}
	return r.settle()
}

// one yields one message. If the server fails on it twice, the others come first, to see
// whether it serves these.
func (r *run) one(it *Item) error {
	m, err := r.get(it)
	if err != nil && !Final(r.ctx, err) {
		m, err = r.get(it)
	}
	switch {
	case errors.Is(err, ErrSkip):
		return nil
	case errors.Is(err, ErrGone):
		r.vanished++
		return nil
	case err != nil && Final(r.ctx, err):
		return err
	case err != nil:
		r.suspects = append(r.suspects, suspect{*it, err})
		if len(r.suspects) == maxSuspects {
			return r.settle()
		}
		return nil
	}
	if err := r.giveUp(); err != nil {
		return err
	}
	return r.emit(m)
}

func (r *run) get(it *Item) (*source.Message, error) {
	if r.Pause != nil {
		if err := r.Pause(); err != nil {
			return nil, yielded{err}
		}
	}
	m := &source.Message{
		Source: r.Name, Name: it.ID, UIDValidity: it.UIDValidity, UID: it.UID, Received: it.Received,
	}
	return m, r.Box.Get(r.ctx, it, m)
}

// refusals are answers that every request would get.
var refusals = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}

// Final reports whether another try with the same message is pointless.
func Final(ctx context.Context, err error) bool {
	var classed *fault.Error
	var status *https.Status
	var ours yielded
	return ctx.Err() != nil || errors.As(err, &classed) || errors.As(err, &ours) || errors.Is(err, ErrSkip) || errors.Is(err, ErrGone) ||
		errors.As(err, &status) && slices.Contains(refusals, status.Code)
}

func (r *run) emit(m *source.Message) error {
	if err := r.yield(m); err != nil {
		return yielded{err}
	}
	return nil
}

// giveUp yields the suspects as messages that are unavailable, because the server serves again.
func (r *run) giveUp() error {
	for _, s := range r.suspects {
		m := &source.Message{
			Source: r.Name, Name: s.item.ID, UIDValidity: s.item.UIDValidity, UID: s.item.UID,
			Received: s.item.Received, Unavailable: s.why,
		}
		if err := r.emit(m); err != nil {
			return err
		}
	}
	r.suspects = r.suspects[:0]
	return nil
}

// settle gives up the suspects if the server serves a message that is not one of them. In a
// mailbox with no other there is none to ask for. A server that fails on all of them is ill, and
// then none may be skipped.
func (r *run) settle() error {
	if len(r.suspects) == 0 {
		return nil
	}
	others, err := r.Box.Newest(r.ctx, maxSuspects+maxWitnesses)
	if err != nil {
		return err
	}
	others = slices.DeleteFunc(others, func(it Item) bool {
		return it.Missing || slices.ContainsFunc(r.suspects, func(s suspect) bool { return s.item.ID == it.ID })
	})
	for i := range others[:min(len(others), maxWitnesses)] {
		if _, err := r.get(&others[i]); err == nil {
			return r.giveUp()
		} else if Final(r.ctx, err) && !errors.Is(err, ErrGone) && !errors.Is(err, ErrSkip) {
			return err
		}
	}
	if len(others) == 0 {
		return r.giveUp()
	}
	return r.suspects[0].why
}
