package pull

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"pulse/lib/fetch/source"
	"pulse/lib/shared/audit"
)

const (
	overlap = 5 * time.Minute // how much later than its neighbours a message may get into the mailbox
	missed  = time.Hour       // how long the messages after one that is missing wait for it
)

// timed is set in the UIDValidity of a position in time, and of no other.
//
// Such a position has in UID the second at which the last message was received, and in
// UIDValidity a sum over the ids of all messages of the overlap before it, itself included. If
// the server lists the same ones next time, nothing is new up to there. If not, one of them got
// into the mailbox later than its time says, or one is gone: all of the overlap is given again,
// and the queue recognises what it has.
const timed = audit.Timed

// mark sorts messages by time and gives each its position. A message whose time is not over gets
// none, because what comes until then would lie before it: it is given again until then. So it is
// with whatever may lie behind a missing message. Those are left out, and it returns how many. One
// that is missing for long counts as there: Box.Get fails on it, and it is given up.
func mark(items []Item, now time.Time) (list []Item, missing int) {
	end := now.Truncate(time.Second).Add(time.Second)
	for i := range items {
		it := &items[i]
		if it.Missing && !it.Until.IsZero() && it.Until.Before(now.Add(-missed)) {
			it.Missing, it.Received = false, it.Until
		}
		it.Received = it.Received.UTC().Truncate(time.Second)
		if it.Missing && it.Received.Before(end) {
			end = it.Received
		}
	}
	n := len(items)
	items = slices.DeleteFunc(items, func(it Item) bool { return it.Missing })
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(a.Received.Compare(b.Received), cmp.Compare(a.ID, b.ID))
	})
	sum, first := uint32(0), 0
	for i := range items {
		it := &items[i]
		for sum += hash(it.ID); items[first].Received.Before(it.Received.Add(-overlap)); first++ {
			sum -= hash(items[first].ID)
		}
		at := it.Received.Unix()
		if at <= 0 || at > math.MaxUint32 || !it.Received.Before(end) {
			continue
		}
		it.UID, it.UIDValidity = uint32(at), sum|timed
	}
	return items, n - len(items)
}

func hash(id string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return h.Sum32()
}

// plan is what a run fetches, oldest first.
type plan struct {
	items   []Item
	whole   bool // nothing that is wanted was left out by the limit
	missing int
}

// plan asks the server what there is.
func (s *Mailbox) plan(ctx context.Context) (plan, error) {
	switch {
	case !s.From.Resume:
		n := cmp.Or(s.From.Limit, source.Newest)
		items, err := s.Box.Newest(ctx, n)
		items, missing := mark(items, s.From.Now)
		return plan{items: items[max(0, len(items)-n):], missing: missing}, err
	case !s.From.Known || s.From.Position.Received.IsZero():
		return s.since(ctx, s.From.Now.Add(-source.FirstRun), false)
	}
	history, ok := s.Box.(History)
	if p := s.From.Position; ok && p.UIDValidity&timed == 0 {
		items, err := history.After(ctx, Mark{p.UIDValidity, p.UID})
		if !errors.Is(err, ErrExpired) {
			return s.limit(items, time.Time{}), err
		}
	}
	from := s.From.Position.Received
	if from.After(s.From.Now) { // everything else would lie before it
		from = s.From.Now
	}
	return s.since(ctx, from, true)
}

// since plans by time: from is when the last message was received that a queue has, if resume
// is set.
func (s *Mailbox) since(ctx context.Context, from time.Time, resume bool) (plan, error) {
	var upTo Mark
	history, ok := s.Box.(History)
	if ok {
		var err error
		if upTo, err = history.Now(ctx); err != nil { // before the list, so that nothing is between
			return plan{}, err
		}
	}
	items, err := s.Box.Since(ctx, from.Add(-overlap))
	if err != nil {
		return plan{}, err
	}
	items, missing := mark(items, s.From.Now)
	first, again := 0, time.Time{}
	if !resume {
		first, _ = slices.BinarySearchFunc(items, from, Item.compare)
	} else if first = 1 + slices.IndexFunc(items, s.isPosition); first == 0 {
		again = from
	}
	p := s.limit(items[first:], again)
	p.missing = missing
	if n := len(p.items); ok && p.whole && missing == 0 && n > 0 {
		p.items[n-1].UIDValidity, p.items[n-1].UID = upTo.High, upTo.Low
	}
	return p, nil
}

func (it Item) compare(t time.Time) int { return it.Received.Compare(t) }

// isPosition reports whether an item is the one after which a run goes on.
func (s *Mailbox) isPosition(it Item) bool {
	return it.UID == s.From.Position.UID && it.UIDValidity == s.From.Position.UIDValidity
}

// limit leaves out what is over the limit. What was received up to again does not count, nor does
// what has no position although its time is over, because a message before it is missing: it is
// given again, and the limit must let something new through.
func (s *Mailbox) limit(items []Item, again time.Time) plan {
	left := s.From.Limit
	for i, it := range items {
		if s.From.Limit > 0 && left == 0 && !it.Joined {
			return plan{items: items[:i]}
		}
		behind := it.UID == 0 && !it.Received.IsZero() && !it.Received.After(s.From.Now)
		if it.Received.IsZero() || it.Received.After(again) && !behind {
			left = max(0, left-1)
		}
	}
	return plan{items: items, whole: true}
}
