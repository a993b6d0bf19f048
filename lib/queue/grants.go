package queue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/tools"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// ErrNoGrant means that there is no grant for a target.
var ErrNoGrant = errors.New("no grant")

// ErrHeld means that nothing reaches the outside, because the queue is on hold.
var ErrHeld = errors.New("the queue is on hold")

// ErrTarget means that the policy lets nothing reach a target, whoever says yes.
var ErrTarget = errors.New("the policy does not allow this target")

// ErrLost means that the queue lacks a line that was seen committed, so that a grant in it
// may have been spent already.
var ErrLost = errors.New("the queue is not as it was")

// Grant records a person's yes given ahead, which may have been signed elsewhere, earlier.
func Grant(tx *Tx, g approval.Grant, now time.Time) error {
	return tx.Log(audit.Line{Time: now.UTC(), Event: audit.Granted, By: g.By, Level: g.Level, Grant: &g})
}

// Revoke takes a grant back.
func Revoke(tx *Tx, id, by string, level approval.Level, now time.Time) error {
	grants, err := GrantsOf(tx)
	if err != nil {
		return err
	}
	for _, g := range grants {
		if g.ID == id {
			return tx.Log(audit.Line{Time: now.UTC(), Event: audit.Revoked, By: by, Level: level, Grant: &g})
		}
	}
	return fmt.Errorf("%w %s", ErrNoGrant, id)
}

// withheld says what the log calls each refusal of a grant.
var withheld = []struct {
	err    error
	reason string
}{{ErrHeld, "on_hold"}, {ErrLost, "restored"}, {ErrTarget, "target_not_allowed"}, {ErrNoGrant, "no_grant"}}

// Withhold makes a line of the log of a refusal by Consume, and reports whether err is one. The
// line names no target, because those who are refused choose it.
func Withhold(tx *Tx, err error, taskID string, now time.Time) (refused bool, failed error) {
	for _, w := range withheld {
		if errors.Is(err, w.err) {
			line := audit.Line{Time: now.UTC(), Event: audit.Withheld, Change: task.Change{Reason: w.reason}}
			if task.ValidID(taskID) {
				line.Task = taskID
			}
			return true, tx.Log(line)
		}
	}
	return false, nil
}

// closed returns why nothing may reach a target now, whatever grants there are.
func closed(v store.View, p *consent.Proving, target string) error {
	if lost, err := v.Lost(); err != nil || lost != "" {
		return cmp.Or(err, fmt.Errorf("%w: %s", ErrLost, lost))
	}
	if held, err := Held(v); err != nil || held != "" {
		return cmp.Or(err, fmt.Errorf("%w: %s", ErrHeld, held))
	}
	if why := decision.Barred(p.Targets(), target); why != "" {
		return fmt.Errorf("%w: %s", ErrTarget, why)
	}
	if decision.Bound(p.Targets(), target) {
		return fmt.Errorf("%w: an [[approval.row]] is about it, and a grant is not that yes", ErrTarget)
	}
	return nil
}

// Consume spends the grant that fits a target and a task best, once. It skips a grant that
// does not prove what is required, or whose signature was used already. It spends none while
// nothing may start, nor for a target that p.Outbound bars.
func Consume(tx *Tx, p *consent.Proving, target, taskID string, now time.Time) (approval.Grant, error) {
	if err := closed(tx, p, target); err != nil {
		return approval.Grant{}, err
	}
	grants, err := GrantsOf(tx)
	if err != nil {
		return approval.Grant{}, err
	}
	c, err := ClockOf(tx, now)
	if err != nil {
		return approval.Grant{}, err
	}
	same := p.Targets().Outbound.Same
	missing := approval.Missing(grants, target, same, taskID, c.Latest())
	grants = unexpired(&c, grants)
	for {
		g, ok := approval.Match(grants, target, same, now, taskID)
		if !ok {
			return g, fmt.Errorf("%w for this target%s", ErrNoGrant, missing)
		}
		proofs := []approval.Proof{g.Proof("")}
		err := p.Proven(&g, g.Holder, proofs, c.By(g.Given))
		if err == nil {
			err = p.Spend(p.Spends(proofs), c.Sure())
		}
		if err == nil {
			return g, tx.Log(audit.Line{Time: c.Now, Event: audit.Consumed, Grant: &g})
		}
		if !errors.Is(err, consent.ErrNotGood) {
			return g, err
		}
		missing = ": " + strings.TrimPrefix(err.Error(), consent.ErrNotGood.Error()+": ")
		grants = without(grants, g.ID)
	}
}

// unexpired returns the grants that have not expired.
func unexpired(c *clock.Clock, grants []approval.Grant) []approval.Grant {
	return slices.DeleteFunc(grants, func(g approval.Grant) bool { return !c.By(g.Given).Before(g.Expires) })
}

func without(grants []approval.Grant, id string) []approval.Grant {
	return slices.DeleteFunc(grants, func(g approval.Grant) bool { return g.ID == id })
}

// grantable lists the reasons for which an effect waits for a yes to it, and for nothing
// else. A grant is not enough for an effect that waits for a review, or has an unknown
// end: a person has to look at it.
var grantable = []decision.Reason{
	decision.EffectPerson, decision.NeedsConfirm, decision.Reason(tools.NeedsPerson),
}

// untouched reports whether an effect waits for a yes as it was added: no person has
// answered it before, and it was never started.
func untouched(s *Stored) bool {
	return s.Outward() && s.Task.Since.Equal(s.Task.Created) && s.Task.Attempts+s.Task.Restarts == 0 &&
		slices.Contains(grantable, decision.Reason(s.Task.Reason))
}

// confirmable reports whether a decision leaves an effect to a person's yes, which may be
// given ahead. Nobody can say yes ahead to what [flow] confirms: what was read is not known then.
func confirmable(d decision.Decision) bool {
	return d.Outcome == terms.Confirm && !d.Flow && slices.Contains(grantable, d.Reason)
}

// recipients returns the targets that each need a grant. An effect without a target needs
// a grant for any target.
func recipients(s *Stored) []string {
	if list := s.Target(); len(list) > 0 {
		return list
	}
	return []string{""}
}

// tasks returns the tasks to which a grant that an effect spends may be bound, and whether
// it has to be bound to one. A grant is a yes to a message to a target. For any other
// action it must be bound to this very effect, whose id is made from what it wants.
func tasks(s *Stored) (ids []string, bound bool) {
	if s.Decision.Action == terms.ExternalSend {
		return []string{s.Task.ID, s.Identity.Root}, false
	}
	return []string{s.Task.ID}, true
}

// pick returns the grants that cover an effect, one for each target, in the order of the
// targets, or nil if one is missing. good reports whether a grant proves what is required, and
// same whether two spellings are of one target.
func pick(
	s *Stored, grants []approval.Grant, same approval.Same, now time.Time, good func(*approval.Grant) (bool, error),
) (picked []approval.Grant, err error) {
	ids, bound := tasks(s)
	left := slices.DeleteFunc(slices.Clone(grants), func(g approval.Grant) bool { return bound && g.Task == "" })
	for _, target := range recipients(s) {
		for {
			g, ok := approval.Match(left, target, same, now, ids...)
			if !ok {
				return nil, nil
			}
			left = without(left, g.ID)
			if ok, err = good(&g); err != nil {
				return nil, err
			}
			if ok {
				picked = append(picked, g)
				break
			}
		}
	}
	return picked, nil
}

// summed makes an approval of the grants that are a yes to an effect. Its level is their
// lowest, and it is good as long as all of them are. pick has checked the holder of each
// of them; that of the first which is not signed stands for all.
func summed(s *Stored, grants []approval.Grant, now time.Time) *approval.Approval {
	a := Yes(s, "", approval.Signature, now)
	a.Grants = grants
	var by []string
	for i := range grants {
		g := &grants[i]
		if a.Holder == "" && g.Level != approval.Signature {
			a.Holder = g.Holder
		}
		by = append(by, "grant "+g.ID+" of "+g.By)
		if !g.Suffices(a.Level) {
			a.Level = g.Level
		}
		if g.Expires.Before(a.Expires) {
			a.Expires = g.Expires
		}
	}
	a.By = strings.Join(by, ", ")
	return &a
}

// granted looks for an effect that waits for a yes and has one that was given ahead, senders in
// turns (type turns), and claims it. One Update spends the grants, approves the effect and starts it,
// so that no effect is approved that does not start. more is as in Next.
func (r *Run) granted(
	tx *Tx, used *usage, now time.Time, lock func(string) error,
) (claim *Claim, more bool, err error) {
	if !r.Effect.Outward() {
		return nil, false, nil
	}
	grants, err := GrantsOf(tx)
	if err != nil || len(grants) == 0 {
		return nil, false, err
	}
	c, err := ClockOf(tx, now)
	grants = slices.DeleteFunc(unexpired(&c, grants), func(g approval.Grant) bool {
		return !g.Suffices(r.proving().Require) || r.proving().Answered(g.Holder) != nil
	})
	if err != nil || len(grants) == 0 {
		return nil, false, err
	}
	if r.looked == nil {
		r.looked = map[string]bool{}
	}
	var list []store.Entry
	err = tx.Sift(task.Awaiting, func(e store.Entry) (rest bool, err error) {
		if !r.ofKind(&e) || r.overLimit(&e, used) {
			return false, nil
		}
		if !r.looked[e.ID] && r.due(&e, used, now) {
			list = append(list, e)
		}
		return true, nil
	})
	slices.SortStableFunc(list, func(a, b store.Entry) int { return used.last.compare(&a, &b) })
	good := r.judge(&c)
	for i := 0; i < len(list) && claim == nil && err == nil; i++ {
		if i == maxMoves {
			return nil, true, nil
		}
		r.looked[list[i].ID] = true
		claim, err = r.bestow(tx, &list[i], grants, good, now, lock)
	}
	return claim, false, err
}

// judge returns a function that reports whether a grant proves what is required. It
// checks each grant once.
func (r *Run) judge(c *clock.Clock) func(*approval.Grant) (bool, error) {
	known := map[approval.Grant]bool{} // not by id, because a forged grant may have the same
	return func(g *approval.Grant) (bool, error) {
		if ok, asked := known[*g]; asked {
			return ok, nil
		}
		err := r.proving().Proven(g, g.Holder, []approval.Proof{g.Proof("")}, c.By(g.Given))
		if err != nil && !errors.Is(err, consent.ErrNotGood) {
			return false, err
		}
		known[*g] = err == nil
		return err == nil, nil
	}
}

// bestow starts an effect that waits, if grants are a yes to it, or drops it if today's
// policy rejects it. It leaves any other effect alone.
func (r *Run) bestow(
	tx *Tx, e *store.Entry, grants []approval.Grant, good func(*approval.Grant) (bool, error),
	now time.Time, lock func(string) error,
) (*Claim, error) {
	s, err := Load(tx, task.Awaiting, e.ID)
	if errors.Is(err, store.ErrUnknown) || reasonBroken(&s, e, err) != "" {
		return nil, nil // verify says so
	}
	if err != nil || !untouched(&s) {
		return nil, err
	}
	picked, err := pick(&s, grants, r.Policy.Outbound.Same, now, good)
	if picked == nil || err != nil {
		return nil, err
	}
	w, err := r.weigh(tx, &s, summed(&s, picked, now), now)
	switch {
	case err != nil:
		return nil, err
	case w.rejected():
		return nil, tx.Move(w.aside(&s))
	case !w.ok:
		return nil, nil
	}
	return r.start(tx, &s, &w, lock)
}

// spendGrants removes the grants of an approval from the queue, and approves the task.
func spendGrants(tx *Tx, s *Stored, a *approval.Approval, now time.Time) error {
	for i := range a.Grants {
		line := audit.Line{Time: now, Event: audit.Consumed, Task: s.Task.ID, Grant: &a.Grants[i]}
		if err := tx.Log(line); err != nil {
			return err
		}
	}
	change := s.Task.Change
	change.Since, change.Reason = now, reasonApproved
	line := s.move(task.Approved, task.Scheduled, change)
	line.By, line.Level, line.Approval = a.By, a.Level, a
	if err := tx.Move(line); err != nil {
		return err
	}
	s.Task.State, s.Task.Change = task.Scheduled, line.Change
	return nil
}
