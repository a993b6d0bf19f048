package queue

import (
	"errors"
	"fmt"
	"time"

	"pulse/lib/queue/consent"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
)

// agreement returns whose yes a task needs, under the policy of the moment.
func (r *Run) agreement(s *Stored, rows []policy.ApprovalRow) *consent.Agreement {
	return consent.AgreementOf(rows, s.Decision.Count, s.Identity.Sender, r.Holder)
}

// Wants says what a waiting task waits for, where that is more than anyone's yes: who gave the
// first of two, and whose are missing. It is empty where one yes is enough.
func (r *Run) Wants(v store.View, s *Stored, now time.Time) (string, error) {
	g := r.agreement(s, r.rows(s))
	first, one, err := r.first(v, s, g, now)
	switch {
	case err != nil || g.Anyone():
		return "", err
	case first == nil:
		return g.Lacks(), nil
	}
	left := g.Lacks(one)
	if left == "" { // the policy wanted more of them
		left = "one yes more"
	}
	return fmt.Sprintf("%s; %s said yes at %s", left, one.Name, first.Given.Format(time.RFC3339)), nil
}

// first returns the first of two yeses to a task, and whose it is; nil if there is none that counts
// still. Whether it is signed well is looked at when the task starts.
func (r *Run) first(v store.View, s *Stored, g *consent.Agreement, now time.Time) (*approval.Approval, *consent.Person, error) {
	first, err := FirstOf(v, s.Task.ID)
	if errors.Is(err, store.ErrCorrupt) || err == nil && first == nil {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	p := r.proving()
	one, err := p.Whose(first)
	if errors.Is(err, consent.ErrNotGood) {
		return nil, nil, nil
	}
	if err != nil || first.Good(s.Task.Digest, p.Require, now) != nil || !g.Helps(one) {
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
	if g.Anyone() {
		return "", Approve(tx, shown, yes, now)
	}
	me, err := r.proving().Whose(&yes)
	if err != nil {
		return "", err
	}
	if !g.Helps(me) {
		return "", fmt.Errorf("%w: it needs %s, and this is that of %s", consent.ErrNotGood, g.Lacks(), me.Name)
	}
	if left = g.Lacks(me); left == "" {
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
	if left = g.Lacks(one, me); left != "" {
		return "", fmt.Errorf("%w: %s said yes already, and it needs %s", consent.ErrNotGood, one.Name, left)
	}
	return "", Approve(tx, shown, yes, now)
}

// agreed proves that all those said yes whose yes a task needs to start: a is the last yes, and
// the first one has to prove as much. It returns what the start has to spend of that one.
func (r *Run) agreed(v store.View, s *Stored, w *weighed, now time.Time) ([]approval.Proof, error) {
	g, p, a := r.agreement(s, w.decision.Rows), r.proving(), w.approval
	switch {
	case g.Anyone():
		return nil, nil
	case len(a.Grants) > 0:
		return nil, fmt.Errorf("%w: it needs %s, which nobody gives ahead", consent.ErrNotGood, g.Lacks())
	}
	last, err := p.Whose(a)
	if err != nil || g.Lacks(last) == "" {
		return nil, err
	}
	first, err := FirstOf(v, s.Task.ID)
	switch {
	case errors.Is(err, store.ErrCorrupt) || err == nil && first == nil:
		return nil, fmt.Errorf("%w: it needs %s", consent.ErrNotGood, g.Lacks(last))
	case err != nil:
		return nil, err
	}
	by := w.clock.By(first.Given)
	late, err := r.late(v, s, first, by, now)
	if err != nil {
		return nil, err
	}
	proofs, err := r.approved(s, w.decision.Decision, first, late, by)
	if err != nil && !errors.Is(err, consent.ErrBlind) {
		return nil, err
	}
	one, wrong := p.Whose(first)
	if wrong != nil {
		return nil, wrong
	}
	if left := g.Lacks(one, last); left != "" {
		return nil, fmt.Errorf("%w: it needs %s", consent.ErrNotGood, left)
	}
	return proofs, err
}
