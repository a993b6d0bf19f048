package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/decision"
	"pulse/lib/task"
	"pulse/lib/terms"
	"pulse/lib/tools"
)

// ErrNoGrant is the error of a target without a grant.
var ErrNoGrant = errors.New("no grant")

// ErrLost is the error of a queue that lacks what was seen committed: a grant in it may
// have been spent already.
var ErrLost = errors.New("the queue is not as it was")

// Grant records a person's yes given ahead.
func Grant(tx *Tx, g approval.Grant) error {
	return tx.Log(audit.Line{Time: g.Given, Event: audit.Granted, By: g.By, Level: g.Level, Grant: &g})
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

// Consume spends the grant that fits a target and a task best, once. A grant that does
// not prove what is required is passed over, and so is one whose signature was used
// already.
func Consume(tx *Tx, p *Proving, target, taskID string, now time.Time) (approval.Grant, error) {
	if lost, err := tx.Lost(); err != nil {
		return approval.Grant{}, err
	} else if lost != "" {
		return approval.Grant{}, fmt.Errorf("%w: %s", ErrLost, lost)
	}
	grants, err := GrantsOf(tx)
	if err != nil {
		return approval.Grant{}, err
	}
	missing := approval.Missing(grants, target, taskID, now)
	for {
		g, ok := approval.Match(grants, target, now, taskID)
		if !ok {
			return g, fmt.Errorf("%w for this target%s", ErrNoGrant, missing)
		}
		proofs := []approval.Proof{g.Proof("")}
		err := p.proven(&g, g.Holder, proofs, now)
		if err == nil {
			err = p.spend(p.spends(proofs), now)
		}
		if err == nil {
			return g, tx.Log(audit.Line{Time: now.UTC(), Event: audit.Consumed, Grant: &g})
		}
		if !errors.Is(err, ErrNotGood) {
			return g, err
		}
		missing = ": " + strings.TrimPrefix(err.Error(), ErrNotGood.Error()+": ")
		grants = without(grants, g.ID)
	}
}

func without(grants []approval.Grant, id string) []approval.Grant {
	return slices.DeleteFunc(grants, func(g approval.Grant) bool { return g.ID == id })
}

// grantable are the reasons for which an effect waits for a yes to it, and to nothing
// else. A person looks at what waits for a review, or has an unknown end.
var grantable = []decision.Reason{decision.EffectPerson, decision.NeedsConfirm, decision.Reason(tools.NeedsPerson)}

// untouched reports whether an effect waits as it was added, for a yes: no person was
// asked about it before, and it was never started.
func untouched(s *Stored) bool {
	return s.Outward() && s.Task.Since.Equal(s.Task.Created) && s.Task.Attempts+s.Task.Restarts == 0 &&
		slices.Contains(grantable, decision.Reason(s.Task.Reason))
}

// confirmable reports whether a decision leaves an effect to a person's yes, given
// ahead or not.
func confirmable(d decision.Decision) bool {
	return d.Outcome == terms.Confirm && slices.Contains(grantable, d.Reason)
}

// recipients returns the targets that each want a grant. An effect without a target
// wants a grant for any.
func recipients(s *Stored) []string {
	if list := s.Target(); len(list) > 0 {
		return list
	}
	return []string{""}
}

// tasks returns the tasks to which a grant may be bound that an effect spends, and
// whether it has to be bound. A grant says that it is for a message to a target. It
// says nothing of other actions: there it must be for this very effect, whose id is
// made of what it wants.
func tasks(s *Stored) (ids []string, bound bool) {
	if s.Decision.Action == terms.ExternalSend {
		return []string{s.Task.ID, s.Identity.Root}, false
	}
	return []string{s.Task.ID}, true
}

// pick returns the grants that cover an effect, one for each target, in their order;
// nil if one is missing. good says of a grant whether it proves what is required.
func pick(s *Stored, grants []approval.Grant, now time.Time, good func(*approval.Grant) (bool, error)) (picked []approval.Grant, err error) {
	ids, bound := tasks(s)
	left := slices.DeleteFunc(slices.Clone(grants), func(g approval.Grant) bool { return bound && g.Task == "" })
	for _, target := range recipients(s) {
		for {
			g, ok := approval.Match(left, target, now, ids...)
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

// summed makes the approval of an effect that grants are a yes to: its level is the
// lowest of theirs, and it is good while all of them are. pick has asked for each who
// holds it; one of them stands for all.
func summed(s *Stored, grants []approval.Grant, now time.Time) *approval.Approval {
	a := Yes(s, "", approval.Signature, now)
	a.Grants = grants
	a.Holder = grants[0].Holder
	var by []string
	for i := range grants {
		g := &grants[i]
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

// granted looks for the oldest effect that waits for a yes and has one that was given
// ahead, and claims it: what was granted is spent, the effect approved and started in
// one Update, so that nothing is approved that does not start. more is as in Next.
func (r *Run) granted(tx *Tx, used *usage, now time.Time, lock func(string) error) (claim *Claim, more bool, err error) {
	if !r.Effect.Outward() {
		return nil, false, nil
	}
	grants, err := GrantsOf(tx)
	grants = slices.DeleteFunc(grants, func(g approval.Grant) bool { return !now.Before(g.Expires) || !g.Suffices(r.proving().Require) })
	if err != nil || len(grants) == 0 {
		return nil, false, err
	}
	good := r.judge(now)
	looks := 0
	err = tx.Open(task.Awaiting, func(e Entry) (bool, error) {
		if r.looked[e.ID] || !r.due(&e, used, now) {
			return true, nil
		}
		if r.looked == nil {
			r.looked = map[string]bool{}
		}
		r.looked[e.ID] = true
		looks++
		claim, err = r.bestow(tx, &e, grants, good, now, lock)
		more = looks >= maxMoves
		return claim == nil && !more, err
	})
	return claim, more && claim == nil, err
}

// judge returns a function that reports whether a grant proves what is required. It
// checks each grant once.
func (r *Run) judge(now time.Time) func(*approval.Grant) (bool, error) {
	known := map[approval.Grant]bool{} // and not by its id, which a forged one may have too
	return func(g *approval.Grant) (bool, error) {
		if ok, asked := known[*g]; asked {
			return ok, nil
		}
		err := r.proving().proven(g, g.Holder, []approval.Proof{g.Proof("")}, now)
		if err != nil && !errors.Is(err, ErrNotGood) {
			return false, err
		}
		known[*g] = err == nil
		return err == nil, nil
	}
}

// bestow starts an effect that waits, if grants are a yes to it, or drops it if the
// policy of today rejects it. Any other effect is left alone.
func (r *Run) bestow(tx *Tx, e *Entry, grants []approval.Grant, good func(*approval.Grant) (bool, error), now time.Time, lock func(string) error) (*Claim, error) {
	s, err := Load(tx, task.Awaiting, e.ID)
	if errors.Is(err, ErrUnknown) || reasonBroken(&s, e, err) != "" {
		return nil, nil // verify says so
	}
	if err != nil || !untouched(&s) {
		return nil, err
	}
	picked, err := pick(&s, grants, now, good)
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

// spendGrants takes the grants of an approval out of the queue, and approves.
func spendGrants(tx *Tx, s *Stored, a *approval.Approval, now time.Time) error {
	for i := range a.Grants {
		if err := tx.Log(audit.Line{Time: now, Event: audit.Consumed, Task: s.Task.ID, Grant: &a.Grants[i]}); err != nil {
			return err
		}
	}
	change := s.Task.Change
	change.Since, change.Reason = now, ReasonApproved
	line := s.move(task.Approved, task.Scheduled, change)
	line.By, line.Level, line.Approval = a.By, a.Level, a
	if err := tx.Move(line); err != nil {
		return err
	}
	s.Task.State, s.Task.Change = task.Scheduled, change
	return nil
}
