package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
)

// agreement is whose yes a task needs. A task that came when two were wanted needs two, whatever
// the policy of the moment says, and that policy may want more.
type agreement struct {
	rows   []policy.ApprovalRow // none: anyone's
	author string
	holds  func(name string) approval.Holder
}

// agreement returns whose yes a task needs, under the policy of the moment.
func (r *Run) agreement(s *Stored, rows []policy.ApprovalRow) *agreement {
	if s.Decision.Count > 1 {
		rows = append(slices.Clip(rows), came(rows, s.Decision.Count))
	}
	return &agreement{rows, s.Identity.Sender, r.Holder}
}

// came is the row of a task that came when so many were wanted: of those whom the policy lets now.
func came(rows []policy.ApprovalRow, count int) policy.ApprovalRow {
	all, anyone := policy.ApprovalRow{Count: count}, len(rows) == 0
	for i := range rows {
		all.NotAuthor, anyone = all.NotAuthor || rows[i].NotAuthor, anyone || rows[i].Approvers == nil
		all.Approvers = append(all.Approvers, rows[i].Approvers...)
	}
	if anyone {
		all.Approvers = nil
	}
	return all
}

// lacks says whose yes is missing besides those of some people; the empty string: none.
func (g *agreement) lacks(people ...*person) string {
	for i := range g.rows {
		row := &g.rows[i]
		var count []*person
		for _, one := range people {
			same := func(other *person) bool { return g.same(one, other, row.Approvers != nil) }
			if g.may(row, one) && !slices.ContainsFunc(count, same) {
				count = append(count, one)
			}
		}
		if len(count) < row.Count {
			return g.wants(row, count)
		}
	}
	return ""
}

// helps reports whether somebody's yes is one of those that are needed.
func (g *agreement) helps(one *person) bool {
	return slices.ContainsFunc(g.rows, func(row policy.ApprovalRow) bool { return g.may(&row, one) })
}

// wants says whose yes a row wants besides those that count.
func (g *agreement) wants(row *policy.ApprovalRow, count []*person) string {
	left := *row
	left.Approvers = slices.DeleteFunc(slices.Clone(row.Approvers), func(name string) bool {
		return slices.ContainsFunc(count, func(one *person) bool { return g.is(one, name) })
	})
	return left.Wants(len(count))
}

// Wants says what a waiting task waits for, where that is more than anyone's yes: who gave the
// first of two, and whose are missing. It is empty where one yes is enough.
func (r *Run) Wants(v store.View, s *Stored, now time.Time) (string, error) {
	g := r.agreement(s, r.rows(s))
	first, one, err := r.first(v, s, g, now)
	switch {
	case err != nil || len(g.rows) == 0:
		return "", err
	case first == nil:
		return g.lacks(), nil
	}
	left := g.lacks(one)
	if left == "" { // the policy wanted more of them
		left = "one yes more"
	}
	return fmt.Sprintf("%s; %s said yes at %s", left, one.name, first.Given.Format(time.RFC3339)), nil
}

// first returns the first of two yeses to a task, and whose it is; nil if there is none that counts
// still. Whether it is signed well is looked at when the task starts.
func (r *Run) first(v store.View, s *Stored, g *agreement, now time.Time) (*approval.Approval, *person, error) {
	first, err := FirstOf(v, s.Task.ID)
	if errors.Is(err, store.ErrCorrupt) || first == nil {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	p := r.proving()
	one, err := p.whose(first)
	if errors.Is(err, ErrNotGood) {
		return nil, nil, nil
	}
	if err != nil || first.Good(s.Task.Digest, p.Require, now) != nil || !g.helps(one) {
		return nil, nil, err
	}
	return first, one, nil
}

// Agree records a person's yes to the task that was shown. It approves the task if that is the last
// yes that is needed. Otherwise the yes is kept, the task waits on, and left says for what. The
// error is ErrNotGood if a yes of this person changes nothing.
func (r *Run) Agree(tx *Tx, shown *Stored, yes approval.Approval, now time.Time) (left string, err error) {
	s, err := same(tx, shown)
	if err != nil {
		return "", err
	}
	g := r.agreement(&s, r.rows(&s))
	if len(g.rows) == 0 {
		return "", Approve(tx, shown, yes, now)
	}
	me, err := r.proving().whose(&yes)
	if err != nil {
		return "", err
	}
	if !g.helps(me) {
		return "", fmt.Errorf("%w: it needs %s, and this is that of %s", ErrNotGood, g.lacks(), me.name)
	}
	if left = g.lacks(me); left == "" {
		return "", Approve(tx, shown, yes, now)
	}
	first, one, err := r.first(tx, &s, g, now)
	switch {
	case err != nil:
		return "", err
	case first == nil:
		line := s.describe(audit.Line{Time: now.UTC(), Event: audit.Partly, Task: s.Task.ID, Digest: s.Task.Digest})
		line.By, line.Level, line.Approval = yes.By, yes.Level, &yes
		return left, tx.Log(line)
	}
	if left = g.lacks(one, me); left != "" {
		return "", fmt.Errorf("%w: %s said yes already, and it needs %s", ErrNotGood, one.name, left)
	}
	return "", Approve(tx, shown, yes, now)
}

// agreed proves that all those said yes whose yes a task needs to start: a is the last yes, and
// the first one has to prove as much. It returns what the start has to spend of that one.
func (r *Run) agreed(v store.View, s *Stored, w *weighed, now time.Time) ([]approval.Proof, error) {
	g, p, a := r.agreement(s, w.decision.Rows), r.proving(), w.approval
	switch {
	case len(g.rows) == 0:
		return nil, nil
	case len(a.Grants) > 0:
		return nil, fmt.Errorf("%w: it needs %s, which nobody gives ahead", ErrNotGood, g.lacks())
	}
	last, err := p.whose(a)
	if err != nil || g.lacks(last) == "" {
		return nil, err
	}
	first, err := FirstOf(v, s.Task.ID)
	if err != nil || first == nil {
		return nil, errors.Join(err, fmt.Errorf("%w: it needs %s", ErrNotGood, g.lacks(last)))
	}
	by := w.clock.By(first.Given)
	late, err := r.late(v, s, first, by, now)
	if err != nil {
		return nil, err
	}
	proofs, err := p.approved(s, w.decision.Decision, first, late, by)
	if err != nil && !errors.Is(err, errBlind) {
		return nil, err
	}
	one, wrong := p.whose(first)
	if wrong != nil {
		return nil, wrong
	}
	if left := g.lacks(one, last); left != "" {
		return nil, fmt.Errorf("%w: it needs %s", ErrNotGood, left)
	}
	return proofs, err
}
