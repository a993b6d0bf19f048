package queuetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/authorize/hook"
	"pulse/lib/queue"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/finding"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Operation is what one command changes.
type Operation struct {
	Name string
	Do   func(s store.Store, now time.Time) error
}

// Epoch is when these lives begin.
var Epoch = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

// Add adds records to the queue.
func Add(lines ...string) Operation {
	return Operation{fmt.Sprintf("add %d", len(lines)), func(s store.Store, now time.Time) error {
		return add(s, now, 0, lines)
	}}
}

func add(s store.Store, now time.Time, keep time.Duration, lines []string) error {
	b := queue.NewBatch(s, false, 1000, func() time.Time { return now })
	b.Keep, b.Spare = keep, 1<<30
	for _, l := range lines {
		rec, err := record.Parse([]byte(l), queue.Members...)
		if err == nil {
			err = b.Put(rec)
		}
		if err != nil {
			return err
		}
	}
	return b.Commit(func([]byte) error { return nil })
}

// Update is an operation of one Update.
func Update(name string, fn func(tx *queue.Tx, now time.Time) error) Operation {
	return Operation{name, func(s store.Store, now time.Time) error {
		return queue.Update(s, func(tx *queue.Tx) error { return fn(tx, now) })
	}}
}

// First loads the oldest task of a state.
func First(v store.View, st task.State) (s queue.Stored, found bool, err error) {
	err = v.Each(store.On(st), func(id string, _ time.Time) (bool, error) {
		found = true
		s, err = queue.Load(v, st, id)
		return false, err
	})
	return s, found, err
}

// onFirst is an operation on the oldest task of a state, if there is one.
func onFirst(
	name string, st task.State, fn func(tx *queue.Tx, s *queue.Stored, now time.Time) error,
) Operation {
	return Update(name, func(tx *queue.Tx, now time.Time) error {
		s, found, err := First(tx, st)
		if !found || err != nil {
			return err
		}
		return fn(tx, &s, now)
	})
}

// Start starts the oldest task: an ask, or an effect with this action.
func Start(effect terms.Action) Operation {
	return Update("start "+string(effect), func(tx *queue.Tx, now time.Time) error {
		run := queue.Run{Policy: Policy, Effect: effect, Max: 1, Now: func() time.Time { return now }}
		_, _, err := run.Next(tx, func(string) error { return nil })
		return err
	})
}

// judged is what a worker's hook decided.
var judged = []hook.Judged{{
	Judgement: hook.Judgement{
		Tool: "fs.write", Action: terms.WriteLocal, Outcome: terms.Reject, Rule: "hook", Reason: "path_refused",
	},
	Count: 2,
}}

// Allowed is what a worker's hook decided that let a tool be used.
func Allowed(tool string, action terms.Action) hook.Judged {
	j := hook.Judgement{Tool: tool, Action: action, Outcome: terms.Allow, Rule: "r", Reason: "allowed"}
	return hook.Judged{Judgement: j, Count: 1}
}

// Finish ends the worker that was started first. It complained on stderr, and its hook
// judged.
func Finish(end queue.End) Operation {
	name := fmt.Sprintf("finish %d", end.Exit)
	end.Stderr, end.Judged = []byte("at first\nno luck\n"), append(end.Judged, judged...)
	return onFirst(name, task.Running, func(tx *queue.Tx, s *queue.Stored, now time.Time) error {
		a, err := startedOn(tx, s.Task.ID)
		if err != nil {
			return err
		}
		_, err = queue.Finish(tx, &queue.Claim{Stored: *s, Approval: a}, end, &Policy.Limits, now)
		return err
	})
}

// startedOn returns the approval on which a task was started. A run still knows it after
// it was spent.
func startedOn(v store.View, id string) (a *approval.Approval, err error) {
	if a, err = queue.ApprovalOf(v, id); a != nil || err != nil {
		return a, err
	}
	err = v.Back(func(l audit.Line) bool {
		if l.Task == id && l.Moves() && l.Event != task.Started {
			a = l.Approval
			return false
		}
		return true
	})
	return a, err
}

// lasting returns a yes that is still good many operations later: each takes 31 hours.
func lasting(s *queue.Stored, now time.Time) approval.Approval {
	yes := queue.Yes(s, "me", approval.Terminal, now)
	yes.Expires = now.Add(9999 * time.Hour)
	return yes
}

// Operations on the oldest tasks of a state.
var (
	Approve = onFirst("approve", task.Awaiting, func(tx *queue.Tx, s *queue.Stored, now time.Time) error {
		return queue.Approve(tx, s, lasting(s, now), now)
	})
	Agree = onFirst("agree", task.Awaiting, func(tx *queue.Tx, s *queue.Stored, now time.Time) error {
		two := *Policy
		two.Approval.Rows = []policy.ApprovalRow{{Count: 2}}
		_, err := (&queue.Run{Policy: &two}).Agree(tx, s, lasting(s, now), now)
		if errors.Is(err, consent.ErrNotGood) { // there is one
			return nil
		}
		return err
	})
	Deny = onFirst("deny", task.Awaiting, func(tx *queue.Tx, s *queue.Stored, now time.Time) error {
		return queue.Deny(tx, s, "me", approval.Terminal, "not wanted", now)
	})
	Requeue = onFirst("requeue", task.Rejected, func(tx *queue.Tx, s *queue.Stored, now time.Time) error {
		return queue.Requeue(tx, s, lasting(s, now), now)
	})
	Reap = Update("reap and expire", func(tx *queue.Tx, now time.Time) error {
		if _, err := queue.Reap(tx, &Policy.Limits, now, func(string) bool { return true }); err != nil {
			return err
		}
		_, err := queue.Expire(tx, impatient, now)
		return err
	})
	Resurface = Update("resurface", func(tx *queue.Tx, now time.Time) error {
		_, err := queue.Resurface(tx, impatient, now)
		return err
	})
	Consume = Update("consume", func(tx *queue.Tx, now time.Time) error {
		_, err := queue.Consume(tx, &consent.Proving{Require: approval.Terminal}, "bob@partner.example", "", now)
		if refused, failed := queue.Withhold(tx, err, "", now); refused {
			return failed
		}
		return err
	})
	Cancel = Update("cancel", func(tx *queue.Tx, now time.Time) error {
		s, found, err := First(tx, task.Running)
		if !found && err == nil {
			s, found, err = First(tx, task.Scheduled)
		}
		if !found || err != nil {
			return err
		}
		if _, err = queue.Cancel(tx, s.Task.ID, "me", now); err != nil || s.Task.State != task.Running {
			return err
		}
		end := queue.End{Exit: -1, Stderr: []byte("killed\n"), Judged: judged}
		return queue.FinishCancelled(tx, &queue.Claim{Stored: s}, end, now)
	})
	CancelAll = Update("cancel all", func(tx *queue.Tx, now time.Time) error {
		return tx.Each(store.On(task.Scheduled), func(id string, _ time.Time) (bool, error) {
			_, err := queue.Cancel(tx, id, "me", now)
			return true, err
		})
	})
	Prune = Update("prune", func(tx *queue.Tx, now time.Time) error {
		for _, st := range []task.State{task.Completed, task.Rejected, task.Failed} {
			err := tx.Each(store.On(st), func(id string, _ time.Time) (bool, error) {
				s, err := queue.Load(tx, st, id)
				if err != nil {
					return false, err
				}
				return true, tx.Move(audit.Line{
					Time: now, Event: task.Pruned, Task: id, From: st, Kind: s.Kind(),
					Action: s.Decision.Action, Digest: s.Task.Digest,
				})
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	Chores = Update("chores", func(tx *queue.Tx, now time.Time) error {
		run := queue.Run{Policy: Policy, Max: 1, Now: func() time.Time { return now }}
		_, err := run.Chores(tx, now)
		return err
	})
	Confirm = Update("confirm the clock", func(tx *queue.Tx, now time.Time) error {
		return queue.Confirm(tx, audit.Line{By: "me"}, now)
	})
	Nothing = Update("nothing", func(*queue.Tx, time.Time) error { return nil })
	Refuse  = Add(Mail(900, terms.Reject), Mail(901, terms.Reject))
)

// impatient is how long these lives wait for a person.
var impatient = &policy.Limits{ReviewExpires: time.Hour, Resurface: 30 * time.Minute}

// Grant gives a yes ahead.
func Grant(id string) Operation {
	return Update("grant", func(tx *queue.Tx, now time.Time) error {
		return queue.Grant(tx, approval.Grant{
			ID: id, Target: "bob@partner.example", By: "me", Level: approval.Terminal,
			Given: now, Expires: now.Add(9999 * time.Hour),
		}, now)
	})
}

// Session opens a session. A life that opens it again opens another: no two have one id.
func Session(id string, uses int, d time.Duration) Operation {
	return Update("session", func(tx *queue.Tx, now time.Time) error {
		known, err := queue.SessionsOf(tx)
		if err != nil {
			return err
		}
		id := id
		for slices.ContainsFunc(known, func(s approval.Session) bool { return s.ID == id }) {
			id += "0"
		}
		return queue.OpenSession(tx, approval.Session{
			ID: id, Sender: "me@example.com", Max: uses, Left: uses, By: "me", Level: approval.Terminal,
			Opened: now, Expires: now.Add(d),
		})
	})
}

// EndSession ends the session that was opened first.
var EndSession = Update("end session", func(tx *queue.Tx, now time.Time) error {
	list, err := queue.SessionsOf(tx)
	if len(list) == 0 || err != nil {
		return err
	}
	return queue.EndSession(tx, list[0].ID, "me", approval.Terminal, now)
})

// By is an operation by a clock that is wrong by so much.
func By(wrong time.Duration, op Operation) Operation {
	return Operation{fmt.Sprintf("%s, by a clock %s off", op.Name, wrong), func(s store.Store, now time.Time) error {
		return op.Do(s, now.Add(wrong))
	}}
}

// Brake puts the queue on hold, or releases it.
func Brake(e task.Event) Operation {
	return Update(string(e), func(tx *queue.Tx, now time.Time) error {
		return tx.Log(audit.Line{Time: now, Event: e, By: "me"})
	})
}

// Find notes what a person is told of a finding.
func Find(what audit.Told, code string) Operation {
	return Update("finding "+string(what), func(tx *queue.Tx, now time.Time) error {
		f, _, err := queue.FindingOf(tx, code, "imaps://me@imap.example.com/INBOX")
		if err != nil {
			return err
		}
		f.What, f.Code, f.About, f.Text = what, code, "imaps://me@imap.example.com/INBOX", "it is away"
		if what == audit.FindingOpened {
			f.Since = now.UTC()
		}
		return finding.Tell(tx, &f, now)
	})
}

// Life is a life with everything in it, across the turn of a month.
var Life = []Operation{
	Add(Mails(1, 1)...),
	Add(Mails(1, 6)...), // the first one is known
	Refuse,
	Start(""),
	Finish(queue.End{Exit: 0, Result: []byte("done\n")}),
	Start(""),
	Finish(queue.End{Exit: 1, Result: []byte("half\n")}),
	Add(Effect(1), Effect(2)),
	Agree,
	Approve,
	Start(terms.ExternalSend),
	Finish(queue.End{Exit: 75}),
	Start(terms.ExternalSend),
	Finish(queue.End{Exit: 1}),
	Approve,
	Start(terms.ExternalSend),
	Reap,
	Resurface,
	Deny,
	Grant("a1"),
	Grant("a2"),
	Consume,
	Brake(audit.Held),
	Brake(audit.Released),
	Find(audit.FindingOpened, "unreachable"),
	Find(audit.FindingOpened, "login"),
	Find(audit.FindingTold, "login"),
	Find(audit.FindingClosed, "unreachable"),
	Start(""),
	Finish(queue.End{Exit: 0}),
	Add(Mail(50, terms.Review), Effect(3), Mail(51, terms.Allow)),
	Start(""),
	Start(""),
	Start(""),
	Reap,
	Consume,
	Cancel,
	Start(""),
	Cancel,
	Requeue,
	Prune,
	Add(Mails(1, 6)...), // those that were pruned are known
	Prune,
	Session("b1", 3, 9999*time.Hour),
	Add(SessionMail(60, "b1")),
	// One is known, and one too many.
	Add(SessionMail(60, "b1"), SessionMail(61, "b1"), SessionMail(62, "b1"), SessionMail(63, "b1")),
	Session("b2", 5, 9999*time.Hour),
	Session("b3", 1, 9999*time.Hour), // and b2 ends
	Add(SessionMail(64, "b2"), SessionMail(65, "b3")),
	Session("b4", 9, time.Hour),
	Add(SessionMail(66, "b4")), // too late
	Session("b5", 9, 9999*time.Hour),
	EndSession,
	Start(""),
	Cancel,
	Add(Mails(70, 3)...),
	Start(""),
	Finish(queue.End{Exit: 0, Judged: []hook.Judged{Allowed("fs.read", terms.ReadPrivate)}}),
	Start(""),
	Propose(1),
	Take,
	Chores, // a draft and a note
	Chores, // a close
	Start(""),
	Propose(2),
	Prune,
	Take,
	Take,
	Chores,
	CorrectEffect,
	ApproveEffect,
	Start(terms.ExternalSend),
	Finish(queue.End{Exit: 0}),
	Answer,
	Keeping(Wordy(90, terms.Reject), Mail(91, terms.Reject), RejectedEffect(9)),
	Keeping(Wordy(90, terms.Reject), Mail(92, terms.Reject), Mail(93, terms.Allow)), // the first one is kept
	Add(Wordy(90, terms.Reject), Wordy(91, terms.Allow)),                            // and is now a task
	Add(Resent(91), Resent(97), Wordy(97, terms.Allow)),                             // one task each
	Add(Twin(91), Wordy(98, terms.Allow), Twin(98)),                                 // three tasks

	Keeping(Wordy(94, terms.Reject), Wordy(94, terms.Allow), Wordy(94, terms.Reject), Mail(95, terms.Reject)),
	Forget,
	CancelAll,
	Add(Mails(100, 2)...),
	StartReader,
	FinishReader(0, Prose),
	StartReader,
	FinishReader(0, Prose), // and it waits for a person
	StartReader,
	FinishReader(0, Fits),
	StartReader,
	Reap,
	Start(""),
	Finish(queue.End{Exit: 0, Result: []byte("done\n")}),
	Start(""),
	Pause(1),
	Take,
	DenyPaused, // and the ask goes on
	Start(""),
	Pause(2),
	Take,
	Revise, // and it is started again, in the end
	Prune,
	Add(Wordy(91, terms.Allow), Resent(91), Resent(97), Wordy(97, terms.Allow)), // known by their names
	Add(Twin(91), Twin(98)), // and by their ids
	By(-33*time.Hour, Add(Mails(110, 1)...)),
	By(-33*time.Hour, Start("")),
	By(10*365*24*time.Hour, Add(Mail(111, terms.Review))),
	By(10*365*24*time.Hour, Resurface), // of nothing
	Confirm,
	Resurface,
}
