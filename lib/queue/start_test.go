package queue

import (
	"cmp"
	"errors"
	"fmt"
	"testing"
	"time"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/decision"
	"pulse/lib/envelope"
	"pulse/lib/policy"
	"pulse/lib/task"
	"pulse/lib/terms"
)

// bench is a shelf with all that a start depends on.
type bench struct {
	*shelf
	yes      *approval.Approval
	yesErr   error
	grants   []approval.Grant
	sessions []approval.Session
	starts   []Start
	sent     []audit.Line // newest first
	logged   int
}

func (b *bench) Held() (*audit.Line, error)                  { return nil, nil }
func (b *bench) Lost() (string, error)                       { return "", nil }
func (b *bench) Approval(string) (*approval.Approval, error) { return b.yes, b.yesErr }
func (b *bench) Grants() ([]approval.Grant, error)           { return b.grants, nil }
func (b *bench) Sessions() ([]approval.Session, error)       { return b.sessions, nil }
func (b *bench) Log(audit.Line) error                        { b.logged++; return nil }

func (b *bench) Starts(_ time.Time, fn func(Start)) error {
	for _, st := range b.starts {
		fn(st)
	}
	return nil
}

func (b *bench) History(fn func(audit.Line) bool) error {
	for _, l := range b.sent {
		if !fn(l) {
			break
		}
	}
	return nil
}

func (b *bench) Entries(st task.State, fn func(Entry) (bool, error)) error {
	for _, id := range b.in(st) {
		s := b.tasks[id.String()]
		e := Entry{ID: id.String(), State: st, Digest: audit.Bare(s.Task.Digest), Action: s.Decision.Action, Kind: s.Kind(), Since: s.Task.Since}
		if more, err := fn(e); err != nil || !more {
			return err
		}
	}
	return nil
}

func (b *bench) Open(fn func(Entry) (bool, error)) error { return b.Entries(task.Scheduled, fn) }

// keys takes "good" for a signature, and fails if it is broken.
type keys struct {
	broken error
	spent  int
}

func (k *keys) Check(proofs []approval.Proof, _ time.Time) error {
	for i := range proofs {
		if k.broken == nil && proofs[i].Signature != "good" {
			return fmt.Errorf("%w: it is not of that key", ErrNotGood)
		}
	}
	return k.broken
}

func (k *keys) Spend(proofs []approval.Proof, _ time.Time) error { k.spent += len(proofs); return nil }
func (k *keys) Return([]approval.Proof, time.Time) error         { return nil }

const sessionID = "00000000000000aa"

// subjects are tasks that a run may come across.
func subjects() map[string]Stored {
	made := func(trust terms.Trust, a terms.Action) Stored {
		s := stored(1, task.Scheduled, time.Hour, time.Hour)
		s.Identity.Trust, s.Identity.Sender, s.Decision.Action = trust, "me@example.com", a
		return s
	}
	within := made(terms.ApprovedSession, terms.ReadPublic)
	within.Identity.Session = sessionID
	at := now.Add(-30 * time.Minute)
	within.Message = &envelope.Message{Received: at, Fetched: at, Headers: []envelope.Field{{Name: "Date", Value: at.Format(time.RFC1123Z)}}}
	return map[string]Stored{
		"an ask that is allowed":  made(terms.System, terms.ReadPublic),
		"an ask for a person":     made(terms.OwnerVerifiedEmail, terms.Destructive),
		"an ask that is rejected": made(terms.Unknown, terms.ReadPublic),
		"an ask of a session":     within,
		"an effect":               outward(made(terms.OwnerVerifiedEmail, terms.ExternalSend)),
		"an effect of a stranger": outward(made(terms.Unknown, terms.ExternalSend)),
	}
}

// granted is a grant as a person gives it.
func granted(id, target, signature string) approval.Grant {
	return approval.Grant{
		ID: id, Target: target, By: "me", Level: approval.Signature, Given: now.Add(-time.Minute), Expires: now.Add(time.Hour),
		Signer: "me", Signature: signature, Holder: 7,
	}
}

// approvals are what may lie in the queue as the yes to a task.
func approvals(s *Stored) map[string]*approval.Approval {
	yes := func(change func(*approval.Approval)) *approval.Approval {
		a := Yes(s, "me", approval.Signature, now.Add(-time.Minute))
		a.Signer, a.Signature, a.Holder = "me", "good", 7
		change(&a)
		return &a
	}
	of := func(list ...approval.Grant) *approval.Approval {
		return yes(func(a *approval.Approval) { a.Signature, a.Grants = "", list })
	}
	bob := granted("00000000000000b1", "bob@partner.example", "good")
	return map[string]*approval.Approval{
		"none":                    nil,
		"signed well":             yes(func(*approval.Approval) {}),
		"signed badly":            yes(func(a *approval.Approval) { a.Signature = "bad" }),
		"not signed":              yes(func(a *approval.Approval) { a.Signature = "" }),
		"typed at a terminal":     yes(func(a *approval.Approval) { a.Level = approval.Terminal }),
		"of a level made up":      yes(func(a *approval.Approval) { a.Level = "royal" }),
		"of no user":              yes(func(a *approval.Approval) { a.Level, a.Holder = approval.User, 0 }),
		"of a user who is gone":   yes(func(a *approval.Approval) { a.Level, a.Holder = approval.User, 8 }),
		"for other bytes":         yes(func(a *approval.Approval) { a.Digest = "sha256:other" }),
		"for another task":        yes(func(a *approval.Approval) { a.Task = "other" }),
		"for another action":      yes(func(a *approval.Approval) { a.Action = terms.WriteLocal }),
		"for another target":      yes(func(a *approval.Approval) { a.Target = []string{"eve@partner.example"} }),
		"expired":                 yes(func(a *approval.Approval) { a.Expires = now }),
		"of a grant":              of(bob),
		"of a grant signed badly": of(granted(bob.ID, bob.Target, "bad")),
		"of a grant for another":  of(granted(bob.ID, "eve@partner.example", "good")),
		"of two grants":           of(bob, bob),
	}
}

func sessionsOf() map[string][]approval.Session {
	one := approval.Session{
		ID: sessionID, Sender: "me@example.com", Max: 2, Level: approval.Signature, Opened: now.Add(-time.Hour), Expires: now.Add(time.Hour),
		Signer: "me", Signature: "good", Holder: 7,
	}
	bad, other := one, one
	bad.Signature, other.Sender = "bad", "you@example.com"
	return map[string][]approval.Session{"ended": nil, "open": {one}, "signed badly": {bad}, "of another": {other}}
}

// TestOutlookIsWhatNextDoes: over policies, tasks, approvals, sessions and checkers,
// Outlook says what Next then does and why, and does nothing itself.
func TestOutlookIsWhatNextDoes(t *testing.T) {
	broken := errors.New("the file of keys is being edited")
	answers := map[string]int{}
	for _, require := range []approval.Level{approval.Terminal, approval.User, approval.Signature} {
		for _, perDay := range []int{100, 3} {
			for checker, signed := range map[string]*keys{"no checker": nil, "a checker": {}, "a broken checker": {broken: broken}} {
				for what, s := range subjects() {
					for yes, a := range approvals(&s) {
						for session, open := range sessionsOf() {
							for _, unread := range []error{nil, ErrCorrupt} {
								name := fmt.Sprintf("%s, %d a day, %s: %s with an approval %s (%v), session %s", require, perDay, checker, what, yes, unread, session)
								b := &bench{shelf: newShelf(s), yes: a, yesErr: unread, sessions: open, starts: make([]Start, 3)}
								for i := range b.starts {
									b.starts[i] = Start{Time: now.Add(-2 * time.Hour), Kind: s.Kind()}
								}
								if unread != nil {
									b.yes = nil
								}
								answers[compare(t, name, b, s, require, perDay, signed)]++
							}
						}
					}
				}
			}
		}
	}
	for _, want := range []string{"starts", "limit", "error", ReasonApproval, ReasonSessionSpent, string(decision.NotPermitted), string(decision.NeedsConfirm)} {
		if answers[want] == 0 {
			t.Errorf("no case ends in %s: %v", want, answers)
		}
	}
}

// compare asks Outlook and then Next, and returns what came of it in one word.
func compare(t *testing.T, name string, b *bench, s Stored, require approval.Level, perDay int, signed *keys) (answer string) {
	t.Helper()
	p := policy.Default()
	p.Owners, p.Approval.Require, p.Limits.MaxPerDay = []string{"me@example.com"}, string(require), perDay
	run := Run{Policy: p, Max: 10, Now: func() time.Time { return now }}
	if signed != nil {
		run.Signed = signed
		run.Vouch = func(uid int) error {
			if uid != 7 {
				return errors.New("no approver")
			}
			return nil
		}
	}
	if s.Kind() == task.Effect {
		run.Effect = s.Decision.Action
	}
	o, err := run.Outlook(b, &s, now)
	blind := run
	blind.Signed, blind.Vouch, blind.Blind = nil, nil, true
	dim, dimErr := blind.Outlook(b, &s, now)
	if len(b.moved)+b.logged > 0 || signed != nil && signed.spent > 0 {
		t.Fatalf("%s: the outlook changed something", name)
	}
	switch {
	case dimErr != nil || err != nil && !dim.Unproven:
		t.Errorf("%s: blind: %+v, %v", name, dim, dimErr)
	case dim.Unproven && (require == approval.Terminal || !dim.Starts):
		t.Errorf("%s: blind: %+v", name, dim)
	case !dim.Unproven && err == nil && (dim.Starts != o.Starts || dim.Reason != o.Reason || dim.Limit != o.Limit):
		t.Errorf("%s: blind: %+v, with eyes %+v", name, dim, o)
	}
	claim, _, nextErr := run.Next(b, func(string) error { return nil })
	if signed != nil {
		defer func() { signed.spent = 0 }()
	}
	switch {
	case perDay == 3:
		if nextErr != nil || claim != nil || len(b.moved) > 0 || err == nil && o.Limit != "limits.max_per_day" {
			t.Errorf("%s: %+v; but %+v, %v", name, o, b.moved, nextErr)
		}
		return "limit"
	case err != nil:
		if !errors.Is(nextErr, err) || claim != nil || len(b.moved) > 0 {
			t.Errorf("%s: %v; but %v, %+v", name, err, nextErr, b.moved)
		}
		return "error"
	case nextErr != nil || (claim != nil) != o.Starts || o.Limit != "" || o.Unproven || len(b.moved) != 1:
		t.Errorf("%s: %+v; but claimed %t, %+v, %v", name, o, claim != nil, b.moved, nextErr)
		return ""
	case o.Starts:
		if (require == approval.Signature && len(claim.spent) > 0) != (signed != nil && signed.spent > 0) || o.Reason != "" {
			t.Errorf("%s: %+v, spent %+v", name, o, claim.spent)
		}
		return "starts"
	}
	l := &b.moved[0]
	if want := cmp.Or(o.Reason, string(o.Decision.Reason)); l.Change.Reason != want || l.Outcome != o.Decision.Outcome || l.To == task.Running {
		t.Errorf("%s: %+v; but it is %s (%s)", name, o, l.To, l.Change.Reason)
	}
	return l.Change.Reason
}

// TestOutlookOfABadSignature: an approval of level signature that was not signed well
// starts nothing, and Outlook says so.
func TestOutlookOfABadSignature(t *testing.T) {
	s := subjects()["an effect"]
	p := policy.Default()
	p.Owners, p.Approval.Require = []string{"me@example.com"}, string(approval.Signature)
	for yes, want := range map[string]Outlook{
		"signed well": {Starts: true}, "signed badly": {Reason: ReasonApproval}, "not signed": {Reason: ReasonApproval},
		"of a grant": {Starts: true}, "of a grant for another": {Reason: ReasonApproval},
	} {
		run := Run{Policy: p, Max: 10, Effect: terms.ExternalSend, Signed: &keys{}}
		o, err := run.Outlook(&bench{shelf: newShelf(s), yes: approvals(&s)[yes]}, &s, now)
		if err != nil || o.Starts != want.Starts || o.Reason != want.Reason {
			t.Errorf("%s: %+v, %v", yes, o, err)
		}
	}
}

// TestOutlookTooSoon: the target that had a message lately is the limit.
func TestOutlookTooSoon(t *testing.T) {
	s := subjects()["an effect"]
	b := &bench{shelf: newShelf(s), yes: approvals(&s)["signed well"]}
	b.sent = []audit.Line{{Time: now.Add(-time.Minute), Event: task.Started, Target: s.Target()}}
	run := Run{Policy: policy.Default(), Max: 10, Effect: terms.ExternalSend, Now: func() time.Time { return now }}
	run.Policy.Owners = []string{"me@example.com"}
	o, err := run.Outlook(b, &s, now)
	if err != nil || !o.Starts || o.Limit != "outbound.min_reply_interval" {
		t.Errorf("%+v, %v", o, err)
	}
	if claim, _, err := run.Next(b, func(string) error { return nil }); claim != nil || err != nil || len(b.moved) > 0 {
		t.Errorf("%+v, %v", b.moved, err)
	}
}

// TestGrantsStartWhatAnApprovalOfThemWould: what waits starts on grants if, and only if,
// the approval that they make is good; else it is left alone.
func TestGrantsStartWhatAnApprovalOfThemWould(t *testing.T) {
	bob := granted("00000000000000b1", "bob@partner.example", "good")
	for _, c := range []struct {
		name   string
		change func(*approval.Grant, *Stored)
		levels string // at which it starts
	}{
		{"good", func(*approval.Grant, *Stored) {}, "terminal user signature "},
		{"signed badly", func(g *approval.Grant, _ *Stored) { g.Signature = "bad" }, "terminal user "},
		{"of nobody", func(g *approval.Grant, _ *Stored) { g.Holder = 0 }, "terminal signature "},
		{"of a user who is gone", func(g *approval.Grant, _ *Stored) { g.Holder = 8 }, "terminal signature "},
		{"of level terminal", func(g *approval.Grant, _ *Stored) { g.Level = approval.Terminal }, "terminal "},
		{"for another", func(g *approval.Grant, _ *Stored) { g.Target = "eve@partner.example" }, ""},
		{"expired", func(g *approval.Grant, _ *Stored) { g.Expires = now }, ""},
		{"a review", func(_ *approval.Grant, s *Stored) { s.Identity.Trust = terms.ExternalVerified }, ""},
		{"asked about before", func(_ *approval.Grant, s *Stored) { s.Task.Since = now }, ""},
	} {
		levels := ""
		for _, require := range []approval.Level{approval.Terminal, approval.User, approval.Signature} {
			s := subjects()["an effect"]
			s.Task.State, s.Task.Reason = task.Awaiting, string(decision.NeedsConfirm)
			g, p := bob, policy.Default()
			c.change(&g, &s)
			p.Owners, p.AllowedExternal, p.Approval.Require = []string{"me@example.com"}, []string{"me@example.com"}, string(require)
			b, signed := &bench{shelf: newShelf(s), grants: []approval.Grant{g}}, &keys{}
			run := Run{Policy: p, Max: 1, Effect: terms.ExternalSend, Signed: signed, Now: func() time.Time { return now }, Vouch: func(uid int) error {
				if uid != 7 {
					return errors.New("no approver")
				}
				return nil
			}}
			claim, _, err := run.Next(b, func(string) error { return nil })
			if err != nil || claim == nil && len(b.moved)+b.logged+signed.spent > 0 {
				t.Errorf("%s, %s: %v, %+v", c.name, require, err, b.moved)
			}
			if claim == nil {
				continue
			}
			levels += string(require) + " "
			if len(b.moved) != 2 || b.moved[0].Event != task.Approved || b.moved[1].Event != task.Started || b.logged != 1 ||
				(signed.spent == 1) != (require == approval.Signature) {
				t.Errorf("%s, %s: %+v, spent %d", c.name, require, b.moved, signed.spent)
			}
		}
		if levels != c.levels {
			t.Errorf("%s: starts at %q, want %q", c.name, levels, c.levels)
		}
	}
}
