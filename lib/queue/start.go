package queue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// weighed is the answer to "may it start?".
type weighed struct {
	ok       bool
	decision decision.Follows   // what follows at this moment
	approval *approval.Approval // nil: there is none, or none that can be read
	reason   string             // what is wrong besides the decision: its approval, or its session
	spends   []approval.Proof   // what the start has to spend
	change   task.Change        // of the transition, whichever it is
	clock    clock.Clock
}

// weigh decides on a task again and answers whether it may start: the policy allows it, or
// leaves it to a person, and a is a yes that proves what the policy requires. a is nil if
// there is none. Next, grants and Outlook all use weigh, and it changes nothing in the store. An error
// means that the answer is not known.
func (r *Run) weigh(v store.View, s *Stored, a *approval.Approval, now time.Time) (w weighed, err error) {
	if w.clock, err = ClockOf(v, now); err != nil {
		return w, err
	}
	if _, ok := r.Policy.Flow[label.Private]; ok {
		if err := s.Hear(v); err != nil {
			return w, err
		}
	}
	w.decision, w.approval = r.Decide(s), a
	p, weak := r.proving(), false
	free := s.free(&w.decision, a) && !r.opens(s, a)
	if free {
		if weak, err = unproven(v, s); err != nil {
			return w, err
		}
	}
	switch d := w.decision; {
	case weak && a == nil:
		w.reason, err = ReasonCloseUnproven, consent.ErrNotGood
	case free && s.inSession() && p.Require == approval.Signature:
		w.reason = store.ReasonSessionSpent
		w.spends, err = r.within(v, s, r.Policy.Limits.MaxRestarts, w.clock.Latest())
	case free && !weak:
	case d.Outcome == terms.Reject || a == nil:
		err = consent.ErrNotGood
	default:
		w.reason = ReasonApproval
		var late time.Duration
		by := w.clock.By(a.Given)
		if late, err = r.late(v, s, a, by, now); err == nil {
			w.spends, err = r.approved(s, d.Decision, a, late, by)
		}
		if err == nil || errors.Is(err, consent.ErrBlind) {
			first, wrong := r.agreed(v, s, &w, now)
			w.spends, err = append(w.spends, first...), cmp.Or(wrong, err)
		}
	}
	if w.ok = err == nil; w.ok {
		w.reason = ""
	}
	w.change = task.Change{
		Since: now, Attempts: s.Task.Attempts, Deferred: s.Task.Deferred, Restarts: s.Task.Restarts,
		Reason: cmp.Or(w.reason, string(w.decision.Reason)),
	}
	if errors.Is(err, consent.ErrNotGood) {
		err = nil
	}
	return w, err
}

// weighScheduled weighs a task with the approval that the queue has for it. An approval
// that can't be read is not a yes.
func (r *Run) weighScheduled(v store.View, s *Stored, now time.Time) (w weighed, err error) {
	a, err := ApprovalOf(v, s.Task.ID)
	unread := errors.Is(err, store.ErrCorrupt)
	if err != nil && !unread {
		return w, err
	}
	w, err = r.weigh(v, s, a, now)
	if unread && !w.ok && w.decision.Outcome != terms.Reject {
		w.reason = cmp.Or(w.reason, ReasonApproval)
		w.change.Reason = w.reason
	}
	return w, err
}

// aside returns the line of a task that may not start any more. A task that is rejected
// because of what a file looks like now waits for a person, who can repair the file.
func (w *weighed) aside(s *Stored) audit.Line {
	e, to := task.Parked, task.Awaiting
	if w.rejected() {
		e, to = task.Dropped, task.Rejected
	}
	line := s.move(e, to, w.change)
	line.Outcome, line.Rule, line.Policy = w.decision.Outcome, w.decision.Rule, w.decision.Policy
	return line
}

// rejected reports whether the policy rejects the task for good.
func (w *weighed) rejected() bool {
	return w.decision.Outcome == terms.Reject && !w.decision.ForNow()
}

// Decide returns what follows from a task under the policy of this run: by the stored record,
// the level at which it was accepted and that of this moment, and the labels of its root.
func (r *Run) Decide(s *Stored) decision.Follows {
	who := s.Who()
	in := r.input(&s.Content, &who)
	if s.Message != nil {
		in.Source, in.Recipients = s.Message.Source, identity.Recipients(s.Message)
	}
	return decision.Again(in, s.Decision.Action).Follow(&in)
}

// rows returns the rows of the policy that say whose yes a task needs.
func (r *Run) rows(s *Stored) []policy.ApprovalRow { return r.Decide(s).Rows }

func (r *Run) input(c *Content, who *identity.Identity) decision.Input {
	was := who.Trust
	who.Cap(r.Policy)
	return decision.Input{Identity: who, Trust: was, Request: c.Request, Policy: r.Policy, World: r.World}
}

// free reports whether a task starts without a person's yes: it is allowed, and does not
// reach the outside. An ask of a session that has an approval did not come in within the
// session, and starts only on that approval.
func (c *Content) free(d *decision.Follows, a *approval.Approval) bool {
	return d.Outcome == terms.Allow && !c.Outward() && (a == nil || !c.inSession())
}

// within proves that an ask was sent within a session which a person signed, and returns
// what its start spends of the session. A session that a person ended is gone, so an ask
// that has not started by then does not start any more.
func (r *Run) within(v store.View, s *Stored, restarts int, now time.Time) ([]approval.Proof, error) {
	list, err := SessionsOf(v)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(open approval.Session) bool { return open.ID == s.Identity.Session })
	if i < 0 || !identity.Within(s.Message, s.Identity.Sender, &list[i]) {
		return nil, fmt.Errorf("%w: there is no session that it was sent within", consent.ErrNotGood)
	}
	p, proofs := r.proving(), []approval.Proof{list[i].Proof(s.Task.ID, restarts)}
	return p.Spends(proofs), p.Proven(&list[i], list[i].Holder, proofs, now)
}

// approved proves that an approval is a yes to the task file as it is, which has not expired by a
// time, and returns what the start spends of it. It lapses later by the time for which limits kept
// the task waiting.
func (r *Run) approved(
	s *Stored, d decision.Decision, a *approval.Approval, late time.Duration, by time.Time,
) ([]approval.Proof, error) {
	p := r.proving()
	if a.Task != s.Task.ID || a.Action != s.Decision.Action || !slices.Equal(a.Target, s.Target()) {
		return nil, fmt.Errorf("%w: it was given for another task", consent.ErrNotGood)
	}
	if err := a.Good(s.Task.Digest, p.Require, by.Add(-late)); err != nil {
		return nil, fmt.Errorf("%w: %w", consent.ErrNotGood, err)
	}
	if len(a.Grants) > 0 {
		if err := covers(s, d, a.Grants, p.Targets().Outbound.Same); err != nil {
			return nil, err
		}
	}
	if s.Outward() && len(a.Grants) == 0 {
		if err := p.Answered(a.Holder); err != nil {
			return nil, err
		}
	}
	proofs := a.Proofs()
	for i := range proofs {
		proofs[i] = proofs[i].Late(late)
	}
	return p.Spends(proofs), p.Proven(a, a.Holder, proofs, by)
}

// covers returns nil if an approval of this task can be made of these grants. It has to
// check, because anyone who can write the queue can make an approval of any grants.
func covers(s *Stored, d decision.Decision, grants []approval.Grant, same approval.Same) error {
	targets := recipients(s)
	ids, bound := tasks(s)
	if !s.Outward() || !confirmable(d) || len(grants) != len(targets) {
		return fmt.Errorf("%w: grants are no yes to it", consent.ErrNotGood)
	}
	for i := range grants {
		g := &grants[i]
		switch {
		case g.Target != "" && !same(g.Target, targets[i]),
			g.Task != "" && !slices.Contains(ids, g.Task), g.Task == "" && bound,
			slices.ContainsFunc(grants[:i], func(other approval.Grant) bool { return other.ID == g.ID }):
			return fmt.Errorf("%w: it is made of a grant that is not for it", consent.ErrNotGood)
		}
	}
	return nil
}

// proving returns what the policy of a run requires of a yes.
func (r *Run) proving() *consent.Proving {
	return &consent.Proving{
		Require: approval.Level(r.Policy.Approval.Require), Signed: r.Signed, Vouch: r.Vouch, Blind: r.Blind,
		Answers: r.Answers, Outbound: r.Policy,
	}
}
