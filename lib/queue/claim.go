package queue

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/decision"
	"pulse/lib/identity"
	"pulse/lib/policy"
	"pulse/lib/task"
	"pulse/lib/terms"
	"pulse/lib/tools"
)

// The reasons of transitions that no decision made.
const (
	ReasonApproved      = "approved"
	ReasonUnknownEffect = "effect_unknown"
	ReasonDied          = "worker_died"
	ReasonExit          = "worker_failed"
	ReasonLater         = "worker_asked_for_later"
	ReasonDone          = "done"
	ReasonExpired       = "review_expired"
	ReasonCorrupt       = "corrupt"
	ReasonEdited        = "edited" // the file is not what was accepted
	ReasonCancelled     = "cancelled"
	ReasonRequeued      = "requeued"
	ReasonApproval      = "approval_not_good" // expired, for other bytes, of too low a level, or not signed well
)

// Run is one run of the queue: what it looks for and what it has spent.
type Run struct {
	Policy  *policy.Policy
	Effect  terms.Action // empty: asks
	Max     int          // starts of this run
	Account string       // under which workers are started, for the log
	Now     func() time.Time
	Signed  Signed // checks what a policy that requires signatures asks for; nil: nothing is signed well

	World tools.World         // what effects are judged by besides the policy; nil: what needs it is rejected
	Vouch func(uid int) error // nil if this account may say yes, where the policy requires users

	started, external int
	looked            map[string]bool // effects that wait, and are not to be looked at again
}

// Claim is a task that is about to be started: the transition is made, and its
// approval, if it was an effect that reaches the outside, is spent.
type Claim struct {
	Stored
	Approval *approval.Approval

	spent []approval.Proof // of Run.Signed, by this start
}

// maxMoves is how many tasks one Update moves at most: neither its memory nor the
// time it keeps the lock grows with the queue.
const maxMoves = 500

// Next finds the oldest task that may start now, decides on it again and moves it
// to running: before all others an effect that waits for a yes which was granted. It returns nil when there is none, or no start is left; more says
// that it only stopped looking, and wants to be called in another Update. hold is
// called before the task is claimed; if somebody has it already it must fail with
// ErrConflict, and the task is left alone.
func (r *Run) Next(tx Tx, hold func(id string) error) (claim *Claim, more bool, err error) {
	if stop, err := stopped(tx); stop || err != nil || r.started >= r.Max {
		return nil, false, err
	}
	now := r.Now().UTC()
	spent, err := r.spent(tx, now)
	if err != nil || spent.day >= r.Policy.Limits.MaxPerDay {
		return nil, false, err
	}
	if claim, more, err = r.granted(tx, &spent, now, hold); claim != nil || more || err != nil {
		return r.count(claim), more, err
	}
	aside := 0
	err = tx.Entries(task.Scheduled, func(e Entry) (bool, error) {
		if !r.due(&e, &spent, now) {
			return true, nil
		}
		var moved bool
		claim, moved, err = r.consider(tx, &e, now, hold)
		if moved {
			aside++
		}
		more = aside >= maxMoves
		return claim == nil && !more, err
	})
	if err != nil || claim == nil {
		return nil, more, err
	}
	return r.count(claim), false, nil
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

func external(c *Claim) bool { return c.Identity.Trust == terms.ExternalVerified }

// half is the share of a cap that external senders may take. Of one it is one, unless
// a task of anybody else is due.
func (s *spent) half(n int) int {
	if n == 1 && s.ours {
		return 0
	}
	return max(1, n/2)
}

// spent is what was started lately.
type spent struct {
	day, externalDay int
	hour             map[Key]int
	ours             bool // a task that is not an external sender's is due; known where a cap is 1
}

// spent counts the starts of this kind. One that lies in the future, for the clock
// went back, counts: a limit on spending fails closed.
func (r *Run) spent(v View, now time.Time) (spent, error) {
	s := spent{hour: map[Key]int{}}
	err := v.Starts(now, func(st Start) {
		if st.Kind != r.kind() || now.Sub(st.Time) >= Window {
			return
		}
		s.day++
		if st.External {
			s.externalDay++
		}
		if now.Sub(st.Time) < time.Hour {
			s.hour[st.Sender]++
		}
	})
	if err != nil || r.Max != 1 && r.Policy.Limits.MaxPerDay != 1 {
		return s, err
	}
	err = v.Entries(task.Scheduled, func(e Entry) (bool, error) {
		s.ours = !e.External && r.due(&e, &s, now)
		return !s.ours, nil
	})
	return s, err
}

func (r *Run) kind() task.Kind {
	if r.Effect != "" {
		return task.Effect
	}
	return task.Ask
}

// due reports whether a task may be looked at by this run now.
func (r *Run) due(e *Entry, spent *spent, now time.Time) bool {
	if e.Kind != r.kind() || r.Effect != "" && e.Action != r.Effect {
		return false
	}
	// After the clock went back nobody waits for it to catch up, but for what a
	// person put off.
	if now.Before(e.NotBefore) && (e.PutOff || !now.Before(e.Since)) {
		return false
	}
	return !r.overLimit(e, spent)
}

// overLimit reports whether the sender has had his share for now: externals half of
// the caps, also with what is done on their behalf, and who sends messages so many
// an hour.
func (r *Run) overLimit(e *Entry, spent *spent) bool {
	limits := &r.Policy.Limits
	if e.External && (r.external >= spent.half(r.Max) || spent.externalDay >= spent.half(limits.MaxPerDay)) {
		return true
	}
	return e.Message && spent.hour[e.Sender] >= limits.PerSenderPerHour
}

// consider claims one task, or moves it to where it belongs now, or leaves it.
func (r *Run) consider(tx Tx, e *Entry, now time.Time, hold func(string) error) (claim *Claim, moved bool, err error) {
	s, err := tx.Load(task.Scheduled, e.ID)
	if errors.Is(err, ErrUnknown) {
		return nil, false, nil // removed by hand: verify says so
	}
	if broken := reasonBroken(&s, e, err); broken != "" {
		return nil, true, tx.Move(s.move(task.Broke, task.Corrupt, task.Change{Since: now, Reason: broken}))
	}
	if err != nil {
		return nil, false, err
	}
	return r.take(tx, &s, now, hold)
}

// take is consider, of a task that was loaded.
func (r *Run) take(tx Tx, s *Stored, now time.Time, hold func(string) error) (claim *Claim, moved bool, err error) {
	w, err := r.weigh(tx, s, now)
	if err != nil {
		return nil, false, err
	}
	switch {
	case !w.ok:
		return nil, true, tx.Move(aside(s, w.decision, w.change))
	case s.own():
		return nil, true, r.carry(tx, s, &w)
	}
	if soon, err := r.tooSoon(tx, s, now); soon || err != nil {
		return nil, false, err
	}
	if err := hold(s.Task.ID); errors.Is(err, ErrConflict) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, err
	}
	claim, err = r.start(tx, s, &w)
	return claim, false, err
}

// weighed is what a run makes of a scheduled task.
type weighed struct {
	ok       bool // it may start
	decision decision.Decision
	approval *approval.Approval // nil: there is none, or none that can be read
	spends   []approval.Proof   // with the start
	change   task.Change        // of the transition, whichever it is
}

// weigh decides on a task again, and looks at its approval.
func (r *Run) weigh(v View, s *Stored, now time.Time) (w weighed, err error) {
	var unread string
	w.approval, err = v.Approval(s.Task.ID)
	if errors.Is(err, ErrCorrupt) {
		w.approval, err, unread = nil, nil, ReasonApproval // what can't be read is no yes
	}
	if err != nil {
		return w, err
	}
	w.decision = r.decide(s)
	w.change = task.Change{Since: now, Attempts: s.Task.Attempts, Restarts: s.Task.Restarts, Reason: string(w.decision.Reason)}
	ok, reason := r.startable(w.decision, w.approval, s, now)
	if w.decision.Outcome != terms.Reject {
		reason = cmp.Or(reason, unread)
	}
	if ok {
		var why string
		if w.spends, why, err = r.prove(v, s, w.decision, w.approval, now); errors.Is(err, ErrNotGood) {
			ok, reason = false, why
		} else if err != nil {
			return w, err
		}
	}
	w.ok = ok
	if !ok && reason != "" {
		w.change.Reason = reason
	}
	return w, nil
}

// reasonBroken returns why a task file is no task any more, or the empty string.
func reasonBroken(s *Stored, e *Entry, err error) string {
	switch {
	case errors.Is(err, ErrCorrupt):
		return ReasonCorrupt
	case err == nil && !strings.HasPrefix(audit.Bare(s.Task.Digest), e.Digest),
		err == nil && (s.Kind() != e.Kind || s.Decision.Action != e.Action):
		return ReasonEdited
	}
	return ""
}

// start spends what was signed first: whatever happens after it, it is no yes to
// another start.
func (r *Run) start(tx Tx, s *Stored, w *weighed) (*Claim, error) {
	if err := r.proving().spend(w.spends, w.change.Since); err != nil {
		return nil, err
	}
	line := s.move(task.Started, task.Running, w.change)
	line.Outcome, line.Rule, line.Policy, line.Account = w.decision.Outcome, w.decision.Rule, w.decision.Policy, r.Account
	if !s.Outward() {
		line.Approval = w.approval // an ask that comes back needs no second yes
	} else if s.Decision.Action == terms.ExternalSend {
		line.Target = s.Target()
	}
	if err := tx.Move(line); err != nil {
		return nil, err
	}
	s.Task.State, s.Task.Change = task.Running, w.change
	return &Claim{*s, w.approval, w.spends}, nil
}

// decide decides again, with the policy of this run and the stored record.
func (r *Run) decide(s *Stored) decision.Decision {
	who := s.Identity
	who.Cap(r.Policy)
	in := decision.Input{Identity: &who, Request: s.Request, Policy: r.Policy, World: r.World}
	if s.Message != nil {
		in.Source, in.Recipients = s.Message.Source, identity.Recipients(s.Message)
	}
	return decision.Again(in, s.Decision.Action)
}

// aside is the line of a task that may not start any more. One that is rejected for
// what a file looks like now waits for a person, who can mend that.
func aside(s *Stored, d decision.Decision, change task.Change) audit.Line {
	e, to := task.Parked, task.Awaiting
	if d.Outcome == terms.Reject && !d.ForNow() {
		e, to = task.Dropped, task.Rejected
	}
	line := s.move(e, to, change)
	line.Outcome, line.Rule, line.Policy = d.Outcome, d.Rule, d.Policy
	return line
}

// Expire rejects what has waited for a person longer than limit. more says that it
// wants to be called again, in another Update.
func Expire(tx Tx, limit time.Duration, now time.Time) (more bool, err error) {
	return each(tx, task.Awaiting, func(e *Entry) (bool, error) {
		if now.Sub(e.Since) < limit {
			return false, nil
		}
		s, err := tx.Load(task.Awaiting, e.ID)
		if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrUnknown) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		change := s.Task.Change
		change.Since, change.Reason = now, ReasonExpired
		return true, tx.Move(s.move(task.Expired, task.Rejected, change))
	})
}

// each calls fn for the open tasks of a state until maxMoves of them moved.
func each(tx Tx, st task.State, fn func(*Entry) (moved bool, err error)) (more bool, err error) {
	moves := 0
	err = tx.Entries(st, func(e Entry) (bool, error) {
		moved, err := fn(&e)
		if moved {
			moves++
		}
		more = moves >= maxMoves
		return !more, err
	})
	return more, err
}

// stopped reports whether nothing may start: a person holds the queue, or it lacks what
// was committed and no person has accepted that.
func stopped(v View) (bool, error) {
	if held, err := v.Held(); held != nil || err != nil {
		return true, err
	}
	lost, err := v.Lost()
	return lost != "", err
}

// Held returns the sentence that says a queue is held, or the empty string.
func Held(v View) (string, error) {
	l, err := v.Held()
	if l == nil || err != nil {
		return "", err
	}
	if l.Time.IsZero() {
		return "held by a file made by hand", nil
	}
	return fmt.Sprintf("held since %s by %s", l.Time.Format(time.RFC3339), l.By), nil
}
