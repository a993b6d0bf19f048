package queue_test

import (
	"cmp"
	"errors"
	"fmt"
	"testing"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/queue"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// answer lays a yes to a task, as its holder wrote it.
func (s *shelf) answer(id string, a *approval.Approval) {
	if a != nil {
		s.Lay(store.Approvals, id, store.Item{Bytes: a.Append(nil), Writer: a.Holder})
	}
}

// started adds starts to the log.
func (s *shelf) started(lines ...audit.Line) {
	s.t.Helper()
	s.laid += len(lines)
	err := s.Update(func(store.View) (*store.Commit, error) { return &store.Commit{Lines: lines}, nil })
	if err != nil {
		s.t.Fatal(err)
	}
}

// next claims what a run would start.
func (s *shelf) next(run *queue.Run) (claim *queue.Claim, err error) {
	err = s.update(func(tx *queue.Tx) error {
		claim, _, err = run.Next(tx, func(string) error { return nil })
		return err
	})
	return claim, err
}

// outlook says what a run would make of a task.
func (s *shelf) outlook(run *queue.Run, one *queue.Stored) (o queue.Outlook, err error) {
	err = s.View(func(v store.View) error {
		o, err = run.Outlook(v, one, now)
		return err
	})
	return o, err
}

// keys takes "good" for a signature, and fails if it is broken.
type keys struct {
	broken error
	spent  int
	names  map[string][]string // of whoever made a signature
}

func (k *keys) Check(proofs []approval.Proof, _ time.Time) error {
	for i := range proofs {
		if k.broken == nil && proofs[i].Signature != "good" && k.names[proofs[i].Signature] == nil {
			return fmt.Errorf("%w: it is not of that key", consent.ErrNotGood)
		}
	}
	return k.broken
}

func (k *keys) Spend(proofs []approval.Proof, _ time.Time) error { k.spent += len(proofs); return nil }
func (k *keys) Return([]approval.Proof, time.Time) error         { return nil }
func (k *keys) Names(signature string) ([]string, error) {
	if k.names[signature] == nil {
		return nil, consent.ErrNotGood
	}
	return k.names[signature], nil
}

const sessionID = "00000000000000aa"

// subjects are tasks that a run may come across, as a store has them.
func subjects(t *testing.T) map[string]*queue.Stored {
	made := func(trust terms.Trust, a terms.Action) *queue.Stored {
		s := stored(1, task.Scheduled, time.Hour, time.Hour)
		s.Identity.Trust, s.Identity.Sender, s.Decision.Action = trust, "me@example.com", a
		return s
	}
	within := made(terms.ApprovedSession, terms.ReadPublic)
	within.Identity.Session = sessionID
	at := now.Add(-30 * time.Minute)
	within.Message = &envelope.Message{Received: at, Fetched: at, Headers: []envelope.Field{{Name: "Date", Value: at.Format(time.RFC1123Z)}}}
	all := map[string]*queue.Stored{
		"an ask that is allowed":  made(terms.System, terms.ReadPublic),
		"an ask for a person":     made(terms.OwnerVerifiedEmail, terms.Destructive),
		"an ask that is rejected": made(terms.Unknown, terms.ReadPublic),
		"an ask of a session":     within,
		"an effect":               outward(made(terms.OwnerVerifiedEmail, terms.ExternalSend)),
		"an effect of a stranger": outward(made(terms.Unknown, terms.ExternalSend)),
	}
	for _, s := range all {
		newShelf(t, s)
	}
	return all
}

// granted is a grant as a person gives it.
func granted(id, target, signature string) approval.Grant {
	return approval.Grant{
		ID: id, Target: target, By: "me", Level: approval.Signature, Given: now.Add(-time.Minute), Expires: now.Add(time.Hour),
		Signer: "me", Signature: signature, Holder: "uid 7",
	}
}

// cantBeRead is an approval that is no JSON.
const cantBeRead = "that can't be read"

// approvals are what may lie in the queue as the yes to a task.
func approvals(s *queue.Stored) map[string]*approval.Approval {
	yes := func(change func(*approval.Approval)) *approval.Approval {
		a := queue.Yes(s, "me", approval.Signature, now.Add(-time.Minute))
		a.Signer, a.Signature, a.Holder = "me", "good", "uid 7"
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
		"of no user":              yes(func(a *approval.Approval) { a.Level, a.Holder = approval.User, "" }),
		"of a user who is gone":   yes(func(a *approval.Approval) { a.Level, a.Holder = approval.User, "uid 8" }),
		"for other bytes":         yes(func(a *approval.Approval) { a.Digest = "sha256:other" }),
		"for another task":        yes(func(a *approval.Approval) { a.Task = "other" }),
		"for another action":      yes(func(a *approval.Approval) { a.Action = terms.WriteLocal }),
		"for another target":      yes(func(a *approval.Approval) { a.Target = []string{"eve@partner.example"} }),
		"expired":                 yes(func(a *approval.Approval) { a.Expires = now }),
		"of a grant":              of(bob),
		"of a grant signed badly": of(granted(bob.ID, bob.Target, "bad")),
		"of a grant for another":  of(granted(bob.ID, "eve@partner.example", "good")),
		"of two grants":           of(bob, bob),
		cantBeRead:                nil,
	}
}

func sessionsOf() map[string][]approval.Session {
	one := approval.Session{
		ID: sessionID, Sender: "me@example.com", Max: 2, Level: approval.Signature, Opened: now.Add(-time.Hour), Expires: now.Add(time.Hour),
		Signer: "me", Signature: "good", Holder: "uid 7",
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
	for what, s := range subjects(t) {
		lately := make([]audit.Line, 3)
		for i := range lately {
			lately[i] = audit.Line{Time: now.Add(-2 * time.Hour), Event: task.Started, Kind: s.Kind()}
		}
		for yes, a := range approvals(s) {
			for session, open := range sessionsOf() {
				for _, require := range []approval.Level{approval.Terminal, approval.User, approval.Signature} {
					for _, perDay := range []int{100, 3} {
						for checker, signed := range map[string]*keys{"no checker": nil, "a checker": {}, "a broken checker": {broken: broken}} {
							name := fmt.Sprintf("%s, %d a day, %s: %s with an approval %s, session %s", require, perDay, checker, what, yes, session)
							b := newShelf(t, s)
							b.started(lately...)
							b.answer(s.Task.ID, a)
							if yes == cantBeRead {
								b.Lay(store.Approvals, s.Task.ID, store.Item{Bytes: []byte("{")})
							}
							for _, one := range open {
								b.Lay(store.Sessions, one.ID, store.Item{Bytes: one.Append(nil), Writer: one.Holder})
							}
							answers[compare(t, name, b, s, require, perDay, signed)]++
						}
					}
				}
			}
		}
	}
	for _, want := range []string{"starts", "limit", "error", queue.ReasonApproval, store.ReasonSessionSpent, string(decision.NotPermitted), string(decision.NeedsConfirm)} {
		if answers[want] == 0 {
			t.Errorf("no case ends in %s: %v", want, answers)
		}
	}
}

// compare asks Outlook and then Next, and returns what came of it in one word.
func compare(t *testing.T, name string, b *shelf, s *queue.Stored, require approval.Level, perDay int, signed *keys) (answer string) {
	t.Helper()
	p := policy.Default()
	p.Owners, p.Approval.Require, p.Limits.MaxPerDay = []string{"me@example.com"}, string(require), perDay
	run := queue.Run{Policy: p, Max: 10, Now: func() time.Time { return now }}
	if signed != nil {
		run.Signed = signed
		run.Vouch = func(holder approval.Holder) error {
			if holder != "uid 7" {
				return errors.New("no approver")
			}
			return nil
		}
	}
	if s.Kind() == task.Effect {
		run.Effect = s.Decision.Action
	}
	o, err := b.outlook(&run, s)
	blind := run
	blind.Signed, blind.Vouch, blind.Blind = nil, nil, true
	dim, dimErr := b.outlook(&blind, s)
	if len(b.lines()) > 0 || signed != nil && signed.spent > 0 {
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
	claim, nextErr := b.next(&run)
	lines := b.lines()
	if signed != nil {
		defer func() { signed.spent = 0 }()
	}
	switch {
	case perDay == 3:
		if nextErr != nil || claim != nil || len(lines) > 0 || err == nil && o.Limit != "limits.max_per_day" {
			t.Errorf("%s: %+v; but %+v, %v", name, o, lines, nextErr)
		}
		return "limit"
	case err != nil:
		if !errors.Is(nextErr, err) || claim != nil || len(lines) > 0 {
			t.Errorf("%s: %v; but %v, %+v", name, err, nextErr, lines)
		}
		return "error"
	case nextErr != nil || (claim != nil) != o.Starts || o.Limit != "" || o.Unproven || len(lines) != 1:
		t.Errorf("%s: %+v; but claimed %t, %+v, %v", name, o, claim != nil, lines, nextErr)
		return ""
	case o.Starts:
		if (len(claim.Spent()) > 0) != (signed != nil && signed.spent > 0) || o.Reason != "" {
			t.Errorf("%s: %+v, spent %+v", name, o, claim.Spent())
		}
		return "starts"
	}
	l := &lines[0]
	if want := cmp.Or(o.Reason, string(o.Decision.Reason)); l.Change.Reason != want || l.Outcome != o.Decision.Outcome || l.To == task.Running {
		t.Errorf("%s: %+v; but it is %s (%s)", name, o, l.To, l.Change.Reason)
	}
	return l.Change.Reason
}

// TestOutlookOfABadSignature: an approval of level signature that was not signed well
// starts nothing, and Outlook says so.
func TestOutlookOfABadSignature(t *testing.T) {
	s := subjects(t)["an effect"]
	p := policy.Default()
	p.Owners, p.Approval.Require = []string{"me@example.com"}, string(approval.Signature)
	for yes, want := range map[string]queue.Outlook{
		"signed well": {Starts: true}, "signed badly": {Reason: queue.ReasonApproval}, "not signed": {Reason: queue.ReasonApproval},
		"of a grant": {Starts: true}, "of a grant for another": {Reason: queue.ReasonApproval},
		cantBeRead: {Reason: queue.ReasonApproval}, "none": {},
	} {
		b := newShelf(t, s)
		b.answer(s.Task.ID, approvals(s)[yes])
		if yes == cantBeRead {
			b.Lay(store.Approvals, s.Task.ID, store.Item{Bytes: []byte("{")})
		}
		o, err := b.outlook(&queue.Run{Policy: p, Max: 10, Effect: terms.ExternalSend, Signed: &keys{}}, s)
		if err != nil || o.Starts != want.Starts || o.Reason != want.Reason {
			t.Errorf("%s: %+v, %v", yes, o, err)
		}
	}
}

// TestOutlookTooSoon: the target that had a message lately is the limit.
func TestOutlookTooSoon(t *testing.T) {
	s := subjects(t)["an effect"]
	b := newShelf(t, s)
	b.answer(s.Task.ID, approvals(s)["signed well"])
	b.started(audit.Line{Time: now.Add(-time.Minute), Event: task.Started, Target: s.Target()})
	run := queue.Run{Policy: policy.Default(), Max: 10, Effect: terms.ExternalSend, Now: func() time.Time { return now }}
	run.Policy.Owners = []string{"me@example.com"}
	o, err := b.outlook(&run, s)
	if err != nil || !o.Starts || o.Limit != "outbound.min_reply_interval" {
		t.Errorf("%+v, %v", o, err)
	}
	if claim, err := b.next(&run); claim != nil || err != nil || len(b.lines()) > 0 {
		t.Errorf("%+v, %v", b.lines(), err)
	}
}

// TestGrantsStartWhatAnApprovalOfThemWould: what waits starts on grants if, and only if,
// the approval that they make is good; else it is left alone.
func TestGrantsStartWhatAnApprovalOfThemWould(t *testing.T) {
	bob := granted("00000000000000b1", "bob@partner.example", "good")
	for _, c := range []struct {
		name   string
		change func(*approval.Grant, *queue.Stored)
		levels string // at which it starts
	}{
		{"good", func(*approval.Grant, *queue.Stored) {}, "terminal user signature "},
		{"signed badly", func(g *approval.Grant, _ *queue.Stored) { g.Signature = "bad" }, "terminal "},
		{"signed, of nobody's file", func(g *approval.Grant, _ *queue.Stored) { g.Holder = "" }, "terminal user signature "},
		{"signed, of a file of a user who is gone", func(g *approval.Grant, _ *queue.Stored) { g.Holder = "uid 8" }, "terminal user signature "},
		{"of a user", func(g *approval.Grant, _ *queue.Stored) { g.Level = approval.User }, "terminal user "},
		{"of nobody", func(g *approval.Grant, _ *queue.Stored) { g.Level, g.Holder = approval.User, "" }, "terminal "},
		{"of a user who is gone", func(g *approval.Grant, _ *queue.Stored) { g.Level, g.Holder = approval.User, "uid 8" }, "terminal "},
		{"of level terminal", func(g *approval.Grant, _ *queue.Stored) { g.Level = approval.Terminal }, "terminal "},
		{"for another", func(g *approval.Grant, _ *queue.Stored) { g.Target = "eve@partner.example" }, ""},
		{"expired", func(g *approval.Grant, _ *queue.Stored) { g.Expires = now }, ""},
		{"a review", func(_ *approval.Grant, s *queue.Stored) { s.Identity.Trust = terms.ExternalVerified }, ""},
		{"asked about before", func(_ *approval.Grant, s *queue.Stored) { s.Task.Since = now }, ""},
	} {
		levels := ""
		for _, require := range []approval.Level{approval.Terminal, approval.User, approval.Signature} {
			s := subjects(t)["an effect"]
			s.Task.State, s.Task.Reason = task.Awaiting, string(decision.NeedsConfirm)
			g, p := bob, policy.Default()
			c.change(&g, s)
			p.Owners, p.AllowedExternal, p.Approval.Require = []string{"me@example.com"}, []string{"me@example.com"}, string(require)
			b, signed := newShelf(t, s), &keys{}
			b.Lay(store.Grants, g.ID, store.Item{Bytes: g.Append(nil), Writer: g.Holder})
			run := queue.Run{Policy: p, Max: 1, Effect: terms.ExternalSend, Signed: signed, Now: func() time.Time { return now }, Vouch: func(holder approval.Holder) error {
				if holder != "uid 7" {
					return errors.New("no approver")
				}
				return nil
			}}
			claim, err := b.next(&run)
			lines := b.lines()
			if err != nil || claim == nil && len(lines)+signed.spent > 0 {
				t.Errorf("%s, %s: %v, %+v", c.name, require, err, lines)
			}
			if claim == nil {
				continue
			}
			levels += string(require) + " "
			if len(lines) != 3 || lines[0].Event != audit.Consumed || lines[1].Event != task.Approved || lines[2].Event != task.Started ||
				(signed.spent == 1) != (require != approval.Terminal && g.Level == approval.Signature) {
				t.Errorf("%s, %s: %+v, spent %d", c.name, require, lines, signed.spent)
			}
		}
		if levels != c.levels {
			t.Errorf("%s: starts at %q, want %q", c.name, levels, c.levels)
		}
	}
}
