package queue

import (
	"errors"
	"slices"
	"strings"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// A thing, such as a file, is labelled as a root task is, under an id of its own (task.ThingID), and
// its labels outlive prune as those of a root do. What gave a thing its labels are the asks that
// it was made of. Whoever has seen all of these has seen the thing.

// Origin is what is known of where a thing, or what was read of things, comes from. The zero Origin
// says that no task had a part in it.
type Origin struct {
	Labels label.Set // that whoever reads it gets
	Roots  []string  // the asks that it was made of, sorted
	Lost   bool      // nobody knows all of them
}

// maxRoots is how many asks an Origin remembers. Nobody knows the audience of what more of them
// had a part in.
const maxRoots = 16

// What gave a thing a label. No thing is without one in the queue: where no task gave it any, private
// says that it is kept, and counts for nothing.
const (
	made = "made"
	kept = "kept"
)

// Unknown returns the Origin of what may come from anywhere: it has all labels.
func Unknown() Origin {
	o := Origin{Lost: true}
	for _, l := range label.All {
		o.Labels, _ = o.Labels.With(label.Use{Label: l})
	}
	return o
}

// None reports whether no task had a part in it.
func (o *Origin) None() bool { return len(o.Roots) == 0 && !o.Lost }

// Union returns the Origin of what is made of both.
func (o Origin) Union(p Origin) Origin {
	roots := slices.Concat(o.Roots, p.Roots)
	slices.Sort(roots)
	roots = slices.Compact(roots)
	lost := o.Lost || p.Lost || len(roots) > maxRoots
	return Origin{o.Labels.Union(p.Labels), roots[:min(len(roots), maxRoots)], lost}
}

// set returns the labels of a thing of this Origin.
func (o *Origin) set(now time.Time) (set label.Set) {
	from := strings.Join(o.Roots, " ")
	if o.Lost {
		from = ""
	}
	for _, l := range label.All {
		u := label.Use{Label: l, By: made, Task: from, At: now.UTC().Truncate(time.Second)}
		if o.Labels.Use(l) == nil {
			u.By = kept
		}
		if u.By == made || l == label.Private {
			set, _ = set.With(u)
		}
	}
	return set
}

// originIn returns the Origin of a thing that has these labels.
func originIn(set label.Set) (o Origin) {
	for _, u := range set {
		from := strings.Fields(u.Task)
		wrong := func(id string) bool { return !task.ValidID(id) }
		o = o.Union(Origin{Roots: from, Lost: len(from) == 0 || slices.ContainsFunc(from, wrong)})
		if u.Label != label.Private || u.By != kept {
			o.Labels, _ = o.Labels.With(label.Use{Label: u.Label})
		}
	}
	return o
}

// originOf returns the Origin of a thing.
func originOf(v store.View, id string) (Origin, error) {
	set, err := LabelsOf(v, id, terms.System)
	return originIn(set), err
}

// OriginOf returns the Origin of what is made of all these things.
func OriginOf(v store.View, ids []string) (o Origin, err error) {
	for some := range slices.Chunk(ids, maxMoves) {
		err = v.Look(some, false)
		for i := 0; i < len(some) && err == nil; i++ {
			var one Origin
			one, err = originOf(v, some[i])
			o = o.Union(one)
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

// Audience returns who has seen all that it was made of. Nobody knows that of an ask that was pruned.
func (o *Origin) Audience(v store.View) (audience.Audience, error) {
	if o.Lost {
		return audience.Audience{}, nil
	}
	all := audience.Anyone
	for _, root := range o.Roots {
		ask, err := anywhere(v, root)
		if err != nil {
			return audience.Audience{}, err
		}
		all = all.Intersect(sent(ask))
	}
	return all, nil
}

// readsOf returns the id of the thing that stands for all that was read of things in a root task.
func readsOf(root string) string { return task.ThingID("root", root) }

// Come notes that things come from there, too.
func Come(tx *Tx, things []string, from Origin, now time.Time) error {
	if len(things) == 0 || from.None() {
		return nil
	}
	err := tx.Look(things, false)
	for _, id := range things {
		had, failed := originOf(tx, id)
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		all := had.Union(from)
		if had.None() || len(all.Labels) > len(had.Labels) || all.Lost != had.Lost || !slices.Equal(all.Roots, had.Roots) {
			err = tx.Log(audit.Line{Time: now.UTC(), Event: audit.Labelled, Task: id, Labels: all.set(now)})
		}
	}
	return err
}

// touched notes what a worker that has ended leaves: the labels of its root, what it has read, and
// where what it has written comes from.
func (c *Claim) touched(tx *Tx, end *End, now time.Time) error {
	err := c.label(tx, c.heard(end, now), now)
	if err == nil {
		err = Come(tx, []string{readsOf(c.Root())}, end.Read, now)
	}
	if err == nil {
		err = Come(tx, end.Lost, Unknown(), now)
	}
	if err != nil || len(end.Wrote) == 0 {
		return err
	}
	from, err := c.origin(tx)
	if err != nil {
		return err
	}
	return Come(tx, end.Wrote, from.Union(end.Made), now)
}

// origin returns the Origin of what a worker makes. If its task has a smaller audience than these
// asks, the worker was told more, and Lost is set.
func (c *Claim) origin(tx *Tx) (Origin, error) {
	o, err := originOf(tx, readsOf(c.Root()))
	if err != nil {
		return o, err
	}
	o = o.Union(Origin{Labels: c.Labels, Roots: []string{c.Root()}})
	all, err := o.Audience(tx)
	if fewer := c.Audience.Intersect(all); !slices.Equal(fewer.Words(), all.Words()) {
		o.Lost = true
	}
	return o, err
}
