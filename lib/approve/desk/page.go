package desk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"pulse/lib/approve/screen"
	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/fault"
)

// page is tasks that are asked about together.
type page struct {
	first *queue.Stored
	kin   string // what its tasks have in common; empty: it has room for one
	alone bool   // it comes after the others
	ids   []string
}

// page returns the page of one task. It fails if there is nothing to ask about that.
func (d *Desk) page(id string, q Question) (p page, err error) {
	err = d.Queue.View(func(v store.View) error {
		s, err := queue.Find(v, id)
		if err != nil {
			return err
		}
		p = page{first: &s, ids: []string{id}, alone: q.Alone != nil && q.Alone(&s)}
		switch {
		case p.alone:
		case !q.Pages:
			p.kin = "any"
		default:
			p.kin, err = d.kin(v, &s)
		}
		return cmp.Or(err, q.May(&s))
	})
	return p, err
}

// sort puts a task on the first page that may hold it, or on its own.
func (d *Desk) sort(pages []page, one page) []page {
	for i := range pages {
		p := &pages[i]
		if one.kin != "" && p.kin == one.kin && (one.kin == "any" || !d.reachesMore(p.first, one.first)) {
			p.ids = append(p.ids, one.ids...)
			return pages
		}
	}
	return append(pages, one)
}

// kin returns what the tasks of one page have in common: the ask, the action and the tool. It is
// empty for what stands alone: an ask, what may have happened before, and what reaches an address
// that nobody known named.
func (d *Desk) kin(v store.View, s *queue.Stored) (string, error) {
	again := s.Task.Reason == queue.ReasonUnknownEffect || s.Task.Reason == queue.ReasonRestored
	if !s.Identity.Effect() || s.Request == nil || again {
		return "", nil
	}
	c := screen.Case{Policy: d.Policy}
	if err := origins(v, s, &c); err != nil || c.Closes != nil || len(c.Unnamed(s)) > 0 {
		return "", err
	}
	return fmt.Sprintf("%s %s %q", s.Root(), s.Decision.Action, s.Request.Tool), nil
}

// reachesMore reports whether a task reaches somebody whom neither the first one of its page
// reaches nor the policy lists.
func (d *Desk) reachesMore(first, s *queue.Stored) bool {
	return slices.ContainsFunc(s.Target(), func(t string) bool {
		same := func(o string) bool { return d.Policy.Outbound.Same(o, t) }
		return !slices.ContainsFunc(first.Target(), same) && !screen.Listed(d.Policy, t)
	})
}

// Beside returns which of several tasks may stand on a page with one that was shown, which comes
// first. What somebody else answered meanwhile is left out.
func (d *Desk) Beside(shown *queue.Stored, ids []string, q Question) ([]string, error) {
	var pages []page
	for _, id := range append([]string{shown.Task.ID}, ids...) {
		one, err := d.page(id, q)
		switch {
		case err != nil && fault.KindOf(err) == fault.Temporary:
			return nil, err
		case err != nil && len(pages) == 0:
			return nil, err
		case err == nil && (len(pages) == 0 || id != shown.Task.ID):
			pages = d.sort(pages, one)
		}
	}
	return pages[0].ids, nil
}

// unchanged makes sure that all tasks of a page still are what was shown. A code for all of them
// is for none if one is not.
func (d *Desk) unchanged(all []queue.Stored) error {
	return d.Queue.View(func(v store.View) error {
		for i := range all {
			t := &all[i].Task
			now, err := queue.Find(v, t.ID)
			if err != nil && !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrCorrupt) {
				return err
			}
			if err != nil || now.Task.State != t.State || now.Task.Digest != t.Digest || !now.Task.Since.Equal(t.Since) {
				return fault.Refusedf("pulse-queue show "+t.ID,
					"%w: task %s is not what was shown any more, so none of the %d was approved", store.ErrConflict, t.ID, len(all))
			}
		}
		return nil
	})
}
