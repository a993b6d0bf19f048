package queue

import (
	"errors"
	"strings"
	"time"

	"pulse/lib/authorize/tools"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/schema"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// The reasons of transitions that don't come from a decision.
const (
	reasonApproved      = "approved"
	ReasonUnknownEffect = "effect_unknown"
	ReasonNotDone       = "effect_refused" // its sender says that it did not happen, and will not
	ReasonDied          = "worker_died"
	ReasonExit          = "worker_failed"
	ReasonLater         = "worker_asked_for_later"
	ReasonDone          = "done"
	reasonExpired       = "review_expired"
	reasonCorrupt       = "corrupt"
	reasonEdited        = "edited" // the file is not what was accepted
	reasonCancelled     = "cancelled"
	reasonRequeued      = "requeued"
	ReasonUngated       = "ungated"           // its client used tools, or may have, and its hook was not asked
	ReasonApproval      = "approval_not_good" // expired, for other bytes, of too low a level, or not signed well
)

// Run is one run of the queue: what it looks for, and what it has started.
type Run struct {
	Policy   *policy.Policy
	Effect   terms.Action // empty: asks
	Standing string       // the one standing ask that it starts; empty: all others
	Readers  bool         // it starts the readers of asks, and no workers
	Max      int          // how many tasks it may start
	Account  string       // the account of its workers, for the log
	Now      func() time.Time
	Schema   *schema.Schema // of [extract]; nil: there is none, and what needs an extract does not start
	Signed   consent.Signed // checks signatures, if the policy requires them; nil: nothing is signed well

	World tools.World                 // what effects are judged by besides the policy; nil: what needs it is rejected
	Vouch func(approval.Holder) error // at level user, returns nil if this holder may say yes
	Blind bool                        // Signed and Vouch are not at hand: Outlook leaves open what they decide

	Answers func(approval.Holder) error       // of a queue on a server: it starts an effect on this one's yes
	Holder  func(name string) approval.Holder // the account or login of a name; empty: there is none

	started, external int
	looked            map[string]bool // waiting effects that this run has looked at
	passed            map[string]bool // asks that it has loaded, and that are for another kind of run
	pace              *Pace           // what it has read last of earlier starts
	turns             *turns          // what it has read last of scheduled tasks
}

// Claim is a task that is about to be started: the transition is made, and its
// approval, if it is an effect that reaches the outside, is spent.
type Claim struct {
	Stored
	Approval *approval.Approval
	Policy   *policy.Policy // by which it was started; nil: the defaults

	Schema *schema.Schema // its reader is started, and what that prints has to fit; nil: its worker is started
	unfit  bool           // what its reader printed the last time did not fit

	spent []approval.Proof // what this start spent through Run.Signed
}

// Next finds the task whose turn it is of those that may start now, decides on it again and
// moves it to running. An effect that waits for a yes which was granted ahead comes first. Next
// returns nil if there is no such task, or no start is left; more means that it has not
// looked at all of them, and has to be called in another Update. Next calls lock before it
// claims the task. If another run has the task already, lock must fail with ErrConflict,
// and the task is left alone.
func (r *Run) Next(tx *Tx, lock func(id string) error) (claim *Claim, more bool, err error) {
	if stop, err := stopped(tx); stop || err != nil || r.started >= r.Max {
		return nil, false, err
	}
	now, err := nowOf(tx, r.Now())
	if err != nil {
		return nil, false, err
	}
	used, err := r.usage(tx, now)
	if err != nil || used.day >= r.Policy.Limits.MaxPerDay {
		return nil, false, err
	}
	if claim, more, err = r.granted(tx, &used, now, lock); claim != nil || more || err != nil {
		return r.count(claim), more, err
	}
	claim, more, err = r.inTurn(tx, &used, now, lock)
	return r.count(claim), more, err
}

// inTurn looks for the scheduled task whose turn it is among those that may start.
func (r *Run) inTurn(tx *Tx, used *usage, now time.Time, lock func(string) error) (claim *Claim, more bool, err error) {
	left := r.Max - r.started
	looked, ahead := map[string]bool{}, map[string]bool{}
	good, err := r.turns.good(tx, now)
	if err == nil && !good {
		err = r.readTurns(tx, used, now, left, looked, nil)
	}
	for aside := 0; err == nil; {
		c := r.turns.next(&used.last, func(e *store.Entry) bool { return r.due(e, used, now) })
		if c == nil {
			if !good && !r.turns.cut {
				return nil, false, nil
			}
			left, good = 8*left, false
			err = r.readTurns(tx, used, now, left, looked, nil)
			continue
		}
		if len(looked) > 1 && !ahead[c.ID] { // most runs start one of the first
			if err = r.turns.readAhead(tx.View, c, ahead); err != nil {
				break
			}
		}
		var moved bool
		if claim, moved, err = r.consider(tx, &c.Entry, now, lock); err != nil {
			break
		}
		looked[c.ID] = true
		r.turns.drop(c)
		if moved {
			aside++
		}
		if more = aside >= maxMoves; claim != nil || more {
			return claim, more && claim == nil, nil
		}
	}
	return nil, false, err
}

// yeses returns the tasks that have a yes, or none if all that this run may start have one.
func (r *Run) yeses(v store.View) (map[string]bool, error) {
	if r.Effect.Outward() {
		return nil, nil
	}
	ids, err := keysOn(v, store.Approvals)
	list := map[string]bool{}
	for _, id := range ids {
		list[id] = true
	}
	return list, err
}

// count counts a start, if there is one.
func (r *Run) count(claim *Claim) *Claim {
	if claim == nil {
		return nil
	}
	r.started++
	if external(claim) {
		r.external++
	}
	return claim
}

// Uncount takes back a start that the store refused.
func (r *Run) Uncount(claim *Claim) {
	r.started--
	if external(claim) {
		r.external--
	}
}

func external(c *Claim) bool { return c.Identity.Trust == terms.ExternalVerified }

func (r *Run) kind() task.Kind {
	if r.Effect != "" {
		return task.Effect
	}
	return task.Ask
}

// ofKind reports whether a task is an ask, or an effect with the action, that this run starts.
func (r *Run) ofKind(e *store.Entry) bool {
	return e.Kind == r.kind() && (r.Effect == "" || e.Is(r.Effect))
}

// due reports whether a task may be looked at by this run now.
func (r *Run) due(e *store.Entry, used *usage, now time.Time) bool {
	if !r.ofKind(e) {
		return false
	}
	waits := e.Waits(now)
	if r.Standing != "" {
		waits = !e.Stands()
	}
	return !waits && !r.overLimit(e, used)
}

// dueHere is due for a task that, as far as is known without its file, is for the programs
// that this run starts.
func (r *Run) dueHere(v store.View, e *store.Entry, used *usage, now time.Time) (bool, error) {
	if !r.due(e, used, now) {
		return false, nil
	}
	not, err := r.elsewhere(v, e)
	return !not, err
}

// consider claims one task, or moves it to the state that it belongs in now, or leaves it.
func (r *Run) consider(
	tx *Tx, e *store.Entry, now time.Time, lock func(string) error,
) (claim *Claim, moved bool, err error) {
	if err := tx.Look([]string{e.ID}, true); err != nil {
		return nil, false, err
	}
	s, err := Load(tx, task.Scheduled, e.ID)
	if errors.Is(err, store.ErrUnknown) {
		return nil, false, nil // another run has it, or it was removed by hand: verify says so
	}
	if broken := reasonBroken(&s, e, err); broken != "" {
		return nil, true, tx.Move(s.move(task.Broke, task.Corrupt, task.Change{Since: now, Reason: broken}))
	}
	if err != nil {
		return nil, false, err
	}
	return r.dispatch(tx, &s, now, lock)
}

// reasonBroken returns the reason if a task file can't be read, or is not what its entry
// says; otherwise the empty string.
func reasonBroken(s *Stored, e *store.Entry, err error) string {
	switch {
	case errors.Is(err, store.ErrCorrupt):
		return reasonCorrupt
	case err == nil && !strings.HasPrefix(audit.Bare(s.Task.Digest), e.Digest),
		err == nil && (s.Kind() != e.Kind || !e.Is(s.Decision.Action)):
		return reasonEdited
	}
	return ""
}

// dispatch starts a scheduled task or carries it out if it may start, and otherwise sets
// it aside.
func (r *Run) dispatch(
	tx *Tx, s *Stored, now time.Time, lock func(string) error,
) (claim *Claim, moved bool, err error) {
	if mine, err := r.mine(tx, s); !mine || err != nil {
		r.pass(s.Task.ID)
		return nil, false, err
	}
	w, err := r.weighScheduled(tx, s, now)
	switch {
	case err != nil:
		return nil, false, err
	case !w.ok && w.reason != "" && tx.doubts(&w.clock): // its yes may be good by another clock
		return nil, false, nil
	case !w.ok:
		return nil, true, tx.Move(w.aside(s))
	case w.approval != nil && s.heldUntil(&r.Policy.Limits, &w.clock).After(now):
		return nil, false, nil
	case s.own():
		return nil, true, errors.Join(r.carry(tx, s, &w), s.label(tx, w.gives(s), now))
	}
	claim, err = r.start(tx, s, &w, lock)
	return claim, false, err
}

// start claims a task that may start. It returns nil if the last message to the target is
// too recent, or if another run has the task. Signatures are spent before the task moves,
// so that, whatever happens after that, they are not a yes to another start. What the start
// gives the root task in labels is in the record that the worker reads.
func (r *Run) start(tx *Tx, s *Stored, w *weighed, lock func(string) error) (*Claim, error) {
	if soon, err := r.tooSoon(tx, s, w.change.Since); soon || err != nil {
		return nil, err
	}
	if err := tx.tell(s, w.approval != nil); err != nil {
		return nil, err
	}
	if err := lock(s.Task.ID); errors.Is(err, store.ErrConflict) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if s.Task.State == task.Awaiting {
		if err := spendGrants(tx, s, w.approval, w.change.Since); err != nil {
			return nil, err
		}
	}
	claim := &Claim{Approval: w.approval, Policy: r.Policy, unfit: s.Task.Reason == ReasonUnfit}
	if r.Readers { // a yes is spent on what acts on it
		claim.Schema = r.Schema
	} else if err := r.proving().Spend(w.spends, w.clock.Sure()); err != nil {
		return nil, err
	} else {
		claim.spent = w.spends
	}
	change := w.change
	if claim.Schema != nil {
		change.Reason = ReasonReading
	}
	line := s.move(task.Started, task.Running, change)
	line.Outcome, line.Rule, line.Policy = w.decision.Outcome, w.decision.Rule, w.decision.Policy
	line.Account = r.Account
	if !s.Outward() {
		line.Approval = w.approval // an ask that comes back needs no second yes
	} else if s.Decision.Action == terms.ExternalSend {
		line.Target = s.Target()
	}
	if err := tx.Move(line); err != nil {
		return nil, err
	}
	s.Task.State, s.Task.Change = task.Running, line.Change
	var gives label.Set
	if claim.Schema == nil { // a reader has no tools
		gives = w.gives(s)
	}
	if err := s.label(tx, gives, line.Time); err != nil { // and those of what it is told
		return nil, err
	}
	claim.Stored = *s
	return claim, nil
}
