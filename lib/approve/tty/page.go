package tty

import (
	"context"
	"errors"
	"fmt"

	"pulse/lib/approve/screen"
)

// pagerKeys explains the keys between pages.
var pagerKeys = []string{
	"  Enter  the next page",
	"  b      a page back",
	"  G      the last page: those between count as skipped",
	"  q      quit",
}

// again introduces what is shown a second time.
const again = "it was stopped meanwhile: nothing was changed, and here is all of it again"

// Show shows pages from the first on until a person has reached the end of the last one.
// With whole it does not end before every page was shown; without, pages may be skipped.
// It returns ErrQuit if the person typed q. After the process was stopped it begins
// again, as if nothing had been shown.
func (t *Terminal) Show(ctx context.Context, p *screen.Pages, whole bool) error {
	p.First()
	return t.from(ctx, p, whole)
}

// GoOn is Show without whole, from the first page on that was not shown yet.
func (t *Terminal) GoOn(ctx context.Context, p *screen.Pages) error {
	p.Unshown()
	return t.from(ctx, p, false)
}

func (t *Terminal) from(ctx context.Context, p *screen.Pages, whole bool) error {
	for {
		err := t.show(ctx, p, whole)
		if !errors.Is(err, ErrResumed) {
			return err
		}
	}
}

func (t *Terminal) show(ctx context.Context, p *screen.Pages, whole bool) error {
	if t.wasStopped() {
		t.away = false
		p.Forget()
		p.First()
		if err := t.Tell(again); err != nil {
			return err
		}
	}
	for {
		if err := t.page(p); err != nil {
			return err
		}
		skipped := p.Skipped()
		if p.Last() && (skipped == "" || !whole) {
			return nil
		}
		if p.Last() {
			if err := t.Tell(skipped + ": no answer before they were shown"); err != nil {
				return err
			}
		}
		if err := t.turn(ctx, p); err != nil {
			return err
		}
	}
}

// Tell is Say for lines that may be wider than the terminal.
func (t *Terminal) Tell(lines ...string) error {
	_, columns := t.Size()
	return t.Say(screen.Fold(lines, columns)...)
}

// page shows the current page, in the size that the terminal has now.
func (t *Terminal) page(p *screen.Pages) error {
	p.Fit(t.Size())
	return t.Say(p.Show(colours())...)
}

// turn asks which page to show next.
func (t *Terminal) turn(ctx context.Context, p *screen.Pages) error {
	n, of := p.Number()
	for {
		key, err := t.Ask(ctx, fmt.Sprintf("page %d of %d [Enter,b,G,q,?]: ", n, of))
		if err != nil {
			return err
		}
		switch key {
		case "":
			if p.Last() {
				p.Unshown()
			} else {
				p.Turn(1)
			}
			return nil
		case "b":
			p.Turn(-1)
			return nil
		case "G":
			p.End()
			return nil
		case "q":
			return ErrQuit
		}
		if err := t.Tell(pagerKeys...); err != nil {
			return err
		}
	}
}
