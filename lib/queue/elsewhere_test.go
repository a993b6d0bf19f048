package queue_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/queue"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestAsked: the line is made of the task and of when it came to wait, and of nothing else;
// whatever else is asked has another line.
func TestAsked(t *testing.T) {
	const wait = 48 * time.Hour
	of := func(change func(*queue.Stored)) string {
		s := outward(stored(1, task.Awaiting, time.Hour, time.Minute))
		s.Task.Digest = "sha256:ab"
		change(s)
		a := queue.Asked(s, new(clock.Clock), wait)
		return string(a.Statement())
	}
	const same = `{"pulse-approve":1,"task":"00000000000000000000000000000001","digest":"sha256:ab","action":"external_send","target":["bob@partner.example"],` +
		`"nonce":"9fd44d2c561459989b17537c41760056d53c2a002192c489753b77605a1374f5","not_before":"2026-11-21T06:59:00Z","expires":"2026-11-23T06:59:00Z"}` + "\n"
	for name, change := range map[string]func(*queue.Stored){
		"the task":           func(*queue.Stored) {},
		"what it was before": func(s *queue.Stored) { s.Task.Created, s.Task.Attempts, s.Task.Reason = now, 3, "other" },
	} {
		if got := of(change); got != same {
			t.Errorf("%s:\n%s, want\n%s", name, got, same)
		}
	}
	seen := map[string]string{same: "the task"}
	for name, change := range map[string]func(*queue.Stored){
		"another task":       func(s *queue.Stored) { s.Task.ID = "00000000000000000000000000000002" },
		"other bytes":        func(s *queue.Stored) { s.Task.Digest = "sha256:ac" },
		"another action":     func(s *queue.Stored) { s.Decision.Action = terms.Destructive },
		"another target":     func(s *queue.Stored) { s.Request.Target = []string{"eve@partner.example"} },
		"asked again":        func(s *queue.Stored) { s.Task.Since = s.Task.Since.Add(1) },
		"asked again, later": func(s *queue.Stored) { s.Task.Since = s.Task.Since.Add(time.Second) },
	} {
		got := of(change)
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s: both %s", name, other, got)
		}
		seen[got] = name
	}
	s := stored(1, task.Awaiting, time.Hour, time.Minute)
	s.Task.Since = s.Task.Since.Add(999 * time.Millisecond)
	a := queue.Asked(s, new(clock.Clock), 9999*time.Hour)
	a.Signer, a.Signature = "me", "armor"
	if err := a.Sound(s.Task.Since); err != nil || a.Expires.Sub(a.Given) != approval.LongestWait {
		t.Errorf("a long wait: %+v, %v", a, err)
	}
}

// TestAnew: an id counts once, whatever became of what had it, and however it got there
// while the log was read.
func TestAnew(t *testing.T) {
	g := granted("00000000000000b1", "bob@partner.example", "good")
	one := approval.Session{ID: "00000000000000b1", Sender: "me@example.com", Max: 1, Left: 1, Opened: g.Given, Expires: g.Expires}
	record := func(s *shelf, fn func(tx *queue.Tx) error) {
		if err := s.update(fn); err != nil {
			t.Fatal(err)
		}
	}
	give := func(s *shelf) { record(s, func(tx *queue.Tx) error { return queue.Grant(tx, g, now) }) }
	for name, c := range map[string]struct {
		before, meanwhile func(s *shelf)
		known             bool
	}{
		"never":       {nil, nil, false},
		"others":      {func(s *shelf) { s.open(func(*approval.Session) {}) }, func(s *shelf) { s.started(audit.Line{Time: now, Event: audit.Held}) }, false},
		"before":      {give, nil, true},
		"meanwhile":   {nil, give, true},
		"and between": {func(s *shelf) { s.started(audit.Line{Time: now, Event: audit.Held}) }, give, true},
		"revoked": {func(s *shelf) {
			give(s)
			record(s, func(tx *queue.Tx) error { return queue.Revoke(tx, g.ID, "me", approval.Terminal, now) })
		}, nil, true},
		"a session": {func(s *shelf) {
			record(s, func(tx *queue.Tx) error { return queue.TakeSession(tx, one, now) })
			record(s, func(tx *queue.Tx) error { return queue.EndSession(tx, one.ID, "me", approval.Terminal, now) })
		}, nil, true},
	} {
		s := newShelf(t)
		if c.before != nil {
			c.before(s)
		}
		rest, err := queue.Anew(s, g.ID, g.Given)
		if err == nil {
			if c.meanwhile != nil {
				c.meanwhile(s)
			}
			err = s.update(rest)
		}
		if errors.Is(err, queue.ErrRecorded) != c.known || err != nil && !c.known {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTakenLate: what was signed earlier is recorded when it is taken, so that the log stays
// in order, and a session ends the one that was opened since.
func TestTakenLate(t *testing.T) {
	s := newShelf(t)
	s.open(func(o *approval.Session) { o.Opened = now.Add(-time.Minute) })
	late := now.Add(time.Minute)
	one := approval.Session{ID: "00000000000000b1", Sender: "me@example.com", Max: 1, Left: 1, Opened: now.Add(-time.Hour), Expires: now.Add(time.Hour)}
	err := s.update(func(tx *queue.Tx) error { return queue.TakeSession(tx, one, late) })
	if lines := s.lines(); err != nil || len(lines) != 3 || lines[1].Event != audit.SessionEnded || !lines[1].Time.Equal(late) || !lines[2].Time.Equal(late) {
		t.Errorf("%+v, %v", s.lines(), err)
	}
	g := granted("00000000000000b2", "bob@partner.example", "good")
	err = s.update(func(tx *queue.Tx) error { return queue.Grant(tx, g, late) })
	if lines := s.lines(); err != nil || !lines[3].Time.Equal(late) || !lines[3].Grant.Given.Equal(g.Given) {
		t.Errorf("%+v, %v", s.lines(), err)
	}
}

// TestSignedBesideVouched: at level user an effect to two people starts on a grant that is
// signed and one that an approver's account gave, in either order. The signed one is spent,
// and neither stands in for the other.
func TestSignedBesideVouched(t *testing.T) {
	for name, c := range map[string]struct {
		change func(signed, vouched *approval.Grant)
		starts bool
	}{
		"both good":           {func(_, _ *approval.Grant) {}, true},
		"signed badly":        {func(signed, _ *approval.Grant) { signed.Signature = "bad" }, false},
		"no approver's":       {func(_, vouched *approval.Grant) { vouched.Holder = "uid 8" }, false},
		"of nobody":           {func(_, vouched *approval.Grant) { vouched.Holder = "" }, false},
		"says it is signed":   {func(_, vouched *approval.Grant) { vouched.Level, vouched.Holder = approval.Signature, "" }, false},
		"signed, of nobody's": {func(signed, _ *approval.Grant) { signed.Holder = "" }, true},
	} {
		for _, targets := range [][]string{{"bob@partner.example", "eve@partner.example"}, {"eve@partner.example", "bob@partner.example"}} {
			s := effect(outward(stored(1, task.Awaiting, time.Hour, time.Hour)), fmt.Sprintf("%032x", 0xa5c),
				fmt.Sprintf(`{"action":"external_send","target":[%q,%q]}`, targets[0], targets[1]))
			s.Identity.Trust, s.Identity.Sender, s.Task.Reason = terms.OwnerVerifiedEmail, "me@example.com", string(decision.NeedsConfirm)
			signed, vouched := granted("00000000000000b1", "bob@partner.example", "good"), granted("00000000000000b2", "eve@partner.example", "")
			signed.Holder, vouched.Level = "", approval.User
			c.change(&signed, &vouched)
			p := policy.Default()
			p.Owners, p.Approval.Require = []string{"me@example.com"}, "user"
			b, k := newShelf(t, s), &keys{}
			for _, g := range []approval.Grant{signed, vouched} {
				b.Lay(store.Grants, g.ID, store.Item{Bytes: g.Append(nil), Writer: g.Holder})
			}
			run := queue.Run{Policy: p, Max: 1, Effect: terms.ExternalSend, Signed: k, Now: func() time.Time { return now }, Vouch: func(holder approval.Holder) error {
				if holder != "uid 7" {
					return errors.New("no approver")
				}
				return nil
			}}
			claim, err := b.next(&run)
			if err != nil || (claim != nil) != c.starts || (k.spent == 1) != c.starts {
				t.Errorf("%s, %v: started %t, spent %d, %v", name, targets, claim != nil, k.spent, err)
			}
		}
	}
}

// TestClaimedSignature: at level user, where nothing checks signatures, saying that it is
// signed makes no yes better or worse than the account that wrote it.
func TestClaimedSignature(t *testing.T) {
	for holder, want := range map[approval.Holder]bool{"": false, "uid 7": true, "uid 8": false} {
		s := subjects(t)["an effect"]
		a := approvals(s)["signed well"]
		a.Holder = holder
		b := newShelf(t, s)
		b.answer(s.Task.ID, a)
		p := policy.Default()
		p.Owners, p.Approval.Require = []string{"me@example.com"}, "user"
		run := queue.Run{Policy: p, Max: 1, Effect: terms.ExternalSend, Now: func() time.Time { return now }, Vouch: func(holder approval.Holder) error {
			if holder != "uid 7" {
				return errors.New("no approver")
			}
			return nil
		}}
		if claim, err := b.next(&run); err != nil || (claim != nil) != want {
			t.Errorf("%q: started %t, %v", holder, claim != nil, err)
		}
	}
}
