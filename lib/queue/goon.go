package queue

import (
	"errors"
	"fmt"
	"time"

	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
)

// The reasons of an ask that can go on, and of one that does.
const (
	ReasonPaused    = "awaits_effects"  // its client kept its session, and what it proposed has not ended
	ReasonNoMore    = "continues_spent" // as before, but it has gone on as often as the policy lets it
	reasonContinued = "effects_ended"
	reasonRevised   = "revised" // a person wants it done otherwise
)

// An ask is started again by one event, continued: once what it proposed has ended, or because a
// person refused some of that with words. It stays the same root, with its labels and what is left
// of its budget, and its worker is told how its effects ended.

// paused returns the reason of an ask that has ended well: whether it is to go on once what it
// proposed has ended.
func (c *Claim) paused(end *End, limits *policy.Limits) string {
	switch {
	case !end.Kept || c.Kind() != task.Ask || c.Schema != nil || limits.MaxContinues == 0:
		return ReasonDone
	case c.Task.Continues >= limits.MaxContinues:
		return ReasonNoMore
	}
	return ReasonPaused
}

// goOn starts the asks again whose last effect ends by what is staged.
func (t *Tx) goOn() error {
	var paused []*Stored
	done := map[string]bool{}
	for i := range t.commit.Lines {
		l := &t.commit.Lines[i]
		if l.Kind != task.Effect || !settles(l) {
			continue
		}
		id, err := t.rootOf(l)
		if err != nil {
			return err
		}
		if id == "" || done[id] {
			continue
		}
		done[id] = true
		root, err := anywhere(t.View, id)
		if err != nil {
			return err
		}
		if now, err := t.Where(id); err != nil {
			return err
		} else if root != nil && root.Kind() == task.Ask && now == task.Completed && root.Task.Reason == ReasonPaused {
			paused = append(paused, root)
		}
	}
	left, err := t.unended(paused)
	for _, root := range paused {
		if err == nil && !left[root.Task.ID] {
			now := t.commit.Lines[len(t.commit.Lines)-1].Time
			err = t.Move(root.again(reasonContinued, now))
		}
	}
	return err
}

// settles reports whether a line about an effect may be the last that an ask waits for. What a copy
// learned of the queue that was put aside is not: the ask may have gone on there.
func settles(l *audit.Line) bool {
	switch l.Event {
	case task.Refused, audit.Settled:
		return true
	case task.Pruned, task.Learned:
		return false
	}
	return l.Moves() && !l.To.Open()
}

// rootOf returns the root of the effect of a line, or the empty string if nobody can tell.
func (t *Tx) rootOf(l *audit.Line) (string, error) {
	for _, id := range []string{l.Task, l.Parent} {
		if s, err := anywhere(t.View, id); s != nil || err != nil {
			if err != nil {
				return "", err
			}
			return s.Root(), nil
		}
	}
	return "", nil
}

// again returns the line by which an ask is started again.
func (s *Stored) again(why string, now time.Time) audit.Line {
	change := task.Change{Since: now.UTC(), Reason: why, Continues: s.Task.Continues, Revisions: s.Task.Revisions}
	if why == reasonRevised {
		change.Revisions++
	} else {
		change.Continues++
	}
	return s.move(task.Continued, task.Scheduled, change)
}

// unended returns the roots of which an effect has not ended, or was not taken yet.
func (t *Tx) unended(roots []*Stored) (left map[string]bool, err error) {
	if len(roots) == 0 {
		return nil, nil
	}
	senders := map[store.Key]bool{}
	for _, s := range roots {
		senders[store.KeyOf(s.Identity.Sender)] = true
	}
	left = map[string]bool{}
	taken := map[string][]string{} // what is staged to be taken of an outbox
	for i := range t.commit.Lines {
		l := &t.commit.Lines[i]
		if l.Parent != "" {
			taken[l.Parent] = append(taken[l.Parent], l.Task)
		}
		if now, known := t.states[l.Task]; l.Kind != task.Effect || len(l.Proposed) == 0 && !(l.Event == task.Added && known && now.Open()) {
			continue
		}
		id, err := t.rootOf(l)
		if err != nil {
			return nil, err
		}
		left[id] = true
	}
	return left, errors.Join(t.untaken(taken, left), t.open(senders, left))
}

// untaken notes the roots of what lies in an outbox.
func (t *Tx) untaken(taken map[string][]string, left map[string]bool) error {
	parents, err := Proposers(t)
	for _, parent := range parents {
		if err != nil {
			break
		}
		item, unread := t.Get(store.Outbox, parent)
		if unread != nil && !errors.Is(unread, store.ErrCorrupt) {
			return unread
		}
		file, _, wrong := store.Without(item.Bytes, taken[parent]...)
		if unread == nil && wrong == nil && len(file) == 0 {
			continue
		}
		var id string
		id, err = t.rootOf(&audit.Line{Task: parent}) // an outbox that can't be read has something
		left[id] = true
	}
	return err
}

// open notes the roots of the open effects of some senders.
func (t *Tx) open(senders map[store.Key]bool, left map[string]bool) error {
	var ids []string
	err := t.Open("", func(e store.Entry) (bool, error) {
		if now, moved := t.states[e.ID]; e.Kind == task.Effect && senders[e.Sender] && (!moved || now.Open()) {
			ids = append(ids, e.ID)
		}
		return true, nil
	})
	if err == nil {
		err = t.Look(ids, true)
	}
	for _, id := range ids {
		var s *Stored
		if err == nil {
			s, err = anywhere(t.View, id)
		}
		if s != nil && !(s.own() && s.Request.Tool == proposal.Draft) { // it is pulse's, beside a message
			left[s.Root()] = true
		}
	}
	return err
}

// spent returns how many effects an ask has had since a time, before its worker was started the last time.
func (t *Tx) spent(s *Stored, since time.Time) (n int, err error) {
	p := t.pasts[s.Task.ID]
	if p == nil { // otherwise it was read for this Update; a server's clock says since when the worker runs
		return 0, errPast(s.Task.ID)
	}
	for _, h := range p.told.effects {
		if h.root == s.Task.ID && h.came.After(since) {
			n++
		}
	}
	return n, nil
}

// ErrRevised means that an ask can't be started again: it is not done, or was revised too often.
var ErrRevised = errors.New("its ask is not started again")

// Revise records a person's no to the effect that was shown, with words that its agent is told, and
// starts the ask again that it belongs to. If others of the ask's effects have not ended, it is
// started once they have, if it goes on at all.
func Revise(tx *Tx, shown *Stored, by string, level approval.Level, words string, limits *policy.Limits, now time.Time) error {
	if err := Deny(tx, shown, by, level, words, now); err != nil {
		return err
	}
	root, err := anywhere(tx, shown.Root())
	switch {
	case err != nil:
		return err
	case root == nil || root.Kind() != task.Ask || root.Task.State != task.Completed:
		return fmt.Errorf("%w: it is not completed", ErrRevised)
	case root.Task.Revisions >= limits.MaxRevisions:
		return fmt.Errorf("%w: limits.max_revisions is %d", ErrRevised, limits.MaxRevisions)
	}
	left, err := tx.unended([]*Stored{root})
	switch {
	case err != nil:
		return err
	case left[root.Task.ID] && root.Task.Reason == ReasonPaused:
		return nil
	case left[root.Task.ID]:
		return fmt.Errorf("%w: others of its effects have not ended", ErrRevised)
	}
	line := root.again(reasonRevised, now)
	line.By, line.Level = by, level
	return tx.Move(line)
}
