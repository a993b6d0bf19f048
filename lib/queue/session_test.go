package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// left lists the sessions that are there, with what is left of them.
func (s *shelf) left() string {
	s.t.Helper()
	var all []string
	s.view(func(v store.View) error {
		list, err := queue.SessionsOf(v)
		for _, one := range list {
			all = append(all, fmt.Sprintf("%s:%d", one.ID, one.Left))
		}
		return err
	})
	return strings.Join(all, " ")
}

// ends are how sessions ended, by the log.
func (s *shelf) ends() string {
	var all []string
	for _, l := range s.lines() {
		if l.Event == audit.SessionEnded {
			all = append(all, l.Session.ID+":"+l.Change.Reason)
		}
	}
	return strings.Join(all, " ")
}

func (s *shelf) open(change func(*approval.Session)) {
	s.t.Helper()
	one := *opened(3, approval.Terminal)
	change(&one)
	if err := s.update(func(tx *queue.Tx) error { return queue.OpenSession(tx, one) }); err != nil {
		s.t.Fatal(err)
	}
}

// TestOneSessionASender: another one ends the one before, unless that is of another
// sender, or expired and is only kept; what expired and nothing needs ends itself.
func TestOneSessionASender(t *testing.T) {
	for name, c := range map[string]struct {
		change func(old *approval.Session)
		left   string
		ends   string
	}{
		"the same sender":        {func(*approval.Session) {}, "b2:3", "b1:replaced"},
		"in another case":        {func(s *approval.Session) { s.Sender = "ME@Example.com" }, "b2:3", "b1:replaced"},
		"another sender":         {func(s *approval.Session) { s.Sender = "you@example.com" }, "b1:3 b2:3", ""},
		"expired":                {func(s *approval.Session) { s.Expires = now }, "b2:3", "b1:expired"},
		"expired, and signed":    {func(s *approval.Session) { s.Expires, s.Level = now, approval.Signature }, "b1:3 b2:3", ""},
		"signed, and not needed": {func(s *approval.Session) { s.Expires, s.Level = now.Add(-approval.Kept), approval.Signature }, "b2:3", "b1:expired"},
		"live, and signed":       {func(s *approval.Session) { s.Level = approval.Signature }, "b2:3", "b1:replaced"},
	} {
		s := newShelf(t)
		s.open(func(one *approval.Session) {
			one.Opened = now.Add(-100 * time.Hour)
			c.change(one)
		})
		s.believe(now)
		s.open(func(one *approval.Session) { one.ID = "b2" })
		if s.left() != c.left || s.ends() != c.ends {
			t.Errorf("%s: %q are left, %q ended; want %q and %q", name, s.left(), s.ends(), c.left, c.ends)
		}
	}
}

func TestEndSession(t *testing.T) {
	s := newShelf(t)
	s.open(func(*approval.Session) {})
	finish := func(id string) error {
		return s.update(func(tx *queue.Tx) error { return queue.EndSession(tx, id, "me", approval.Terminal, now) })
	}
	if err := finish("b2"); !errors.Is(err, queue.ErrNoSession) || len(s.lines()) != 1 {
		t.Error(err, s.lines())
	}
	if err := finish("b1"); err != nil || s.left() != "" || s.ends() != "b1:revoked" {
		t.Error(err, s.left(), s.ends())
	}
	if err := finish("b1"); !errors.Is(err, queue.ErrNoSession) {
		t.Error(err)
	}
}

// TestSessionIsUsed once by each ask that comes in within it, and by nothing else; an
// ask for which there is no use left waits for a person.
func TestSessionIsUsed(t *testing.T) {
	mail := func(uid int) string { return queuetest.SessionMail(uid, "b1") }
	effect := strings.Replace(queuetest.Effect(1), `"trust":"owner_verified_email"`, `"trust":"approved_session","session":"b1"`, 1)
	for name, c := range map[string]struct {
		change  func(*approval.Session)
		require approval.Level
		lines   []string
		states  string
		left    string
	}{
		"used":                {nil, approval.Terminal, []string{mail(1)}, "s", "b1:2"},
		"known":               {nil, approval.Terminal, []string{mail(1), mail(1)}, "ss", "b1:2"},
		"used up":             {nil, approval.Terminal, []string{mail(1), mail(2), mail(3), mail(4)}, "sssa", ""},
		"used up, and signed": {func(s *approval.Session) { s.Level, s.Max, s.Left = approval.Signature, 1, 1 }, approval.Terminal, []string{mail(1), mail(2)}, "sa", "b1:0"},
		"by an effect":        {nil, approval.Terminal, []string{effect}, "a", "b1:3"},
		"by another's":        {func(s *approval.Session) { s.Sender = "you@example.com" }, approval.Terminal, []string{mail(1)}, "a", "b1:3"},
		"in another case":     {func(s *approval.Session) { s.Sender = "ME@Example.com" }, approval.Terminal, []string{mail(1)}, "s", "b1:2"},
		"of another id":       {func(s *approval.Session) { s.ID = "b2" }, approval.Terminal, []string{mail(1)}, "a", "b2:3"},
		"expired":             {func(s *approval.Session) { s.Expires = now }, approval.Terminal, []string{mail(1)}, "a", ""},
		"expired, and signed": {func(s *approval.Session) { s.Expires, s.Level = now, approval.Signature }, approval.Terminal, []string{mail(1)}, "a", "b1:3"},
		"of too low a level":  {nil, approval.User, []string{mail(1)}, "a", "b1:3"},
		"by none of it":       {nil, approval.Terminal, []string{queuetest.Mail(1, "allow")}, "s", "b1:3"},
	} {
		s := newShelf(t)
		s.open(func(one *approval.Session) {
			one.Opened = now.Add(-time.Hour)
			if c.change != nil {
				c.change(one)
			}
		})
		b := s.batch(c.lines...)
		b.Require = c.require
		states := ""
		for i, r := range s.commit(b) {
			if states += r[:1]; (r == "awaiting_review "+store.ReasonSessionSpent) != (r[0] == 'a' && c.lines[i] != effect) {
				t.Errorf("%s: %s", name, r)
			}
		}
		if states != c.states || s.left() != c.left {
			t.Errorf("%s: %s, and %q is left; want %s, %q", name, states, s.left(), c.states, c.left)
		}
	}
}

// ids are those of the grants that are there.
func (s *shelf) ids() string {
	s.t.Helper()
	var all []string
	s.view(func(v store.View) error {
		list, err := queue.GrantsOf(v)
		for _, g := range list {
			all = append(all, g.ID)
		}
		return err
	})
	return strings.Join(all, " ")
}

// TestGrants: one is spent once, the one that fits best and is good; what does not fit,
// is revoked, expired or not proven is not.
func TestGrants(t *testing.T) {
	grants := func(s *shelf) {
		for i, change := range []func(*approval.Grant){
			func(g *approval.Grant) {},
			func(g *approval.Grant) { g.Given = now.Add(-time.Minute) }, // the older one
			func(g *approval.Grant) { g.Target = "" },                   // any target
			func(g *approval.Grant) { g.Task = one },
			func(g *approval.Grant) { g.Expires = now },
			func(g *approval.Grant) { g.Target = "eve@partner.example" },
		} {
			g := *given()
			g.ID = fmt.Sprintf("a%d", i)
			change(&g)
			if err := s.update(func(tx *queue.Tx) error { return queue.Grant(tx, g, g.Given) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	consume := func(s *shelf, p *consent.Proving, target, id string) (g approval.Grant, err error) {
		err = s.update(func(tx *queue.Tx) error {
			g, err = queue.Consume(tx, p, target, id, now)
			return err
		})
		return g, err
	}
	s := newShelf(t)
	grants(s)
	if want := "a1 a0 a2 a3 a4 a5"; s.ids() != want {
		t.Fatalf("%s, want %s", s.ids(), want)
	}
	low := &consent.Proving{Require: approval.Terminal}
	for _, c := range []struct{ target, task, want string }{
		{"bob@partner.example", one, "a3"}, {"BOB@partner.example", one, "a1"}, {"bob@partner.example", "", "a0"}, {"bob@partner.example", two, "a2"}, {"bob@partner.example", one, ""},
	} {
		g, err := consume(s, low, c.target, c.task)
		if g.ID != c.want || errors.Is(err, queue.ErrNoGrant) != (c.want == "") {
			t.Errorf("%s for %q: %s, %v; want %s", c.target, c.task, g.ID, err, c.want)
		}
	}
	if s.ids() != "a4 a5" {
		t.Error(s.ids())
	}
	for _, id := range []string{"a5", "a5"} {
		err := s.update(func(tx *queue.Tx) error { return queue.Revoke(tx, id, "me", approval.Terminal, now) })
		if gone := s.ids() == "a4"; !gone || err != nil && !errors.Is(err, queue.ErrNoGrant) {
			t.Error(err, s.ids())
		}
	}
	if last := s.lines()[len(s.lines())-1]; last.Event != audit.Revoked || last.Grant.ID != "a5" || last.By != "me" {
		t.Errorf("%+v", last)
	}
	if _, err := consume(s, low, "eve@partner.example", ""); !errors.Is(err, queue.ErrNoGrant) {
		t.Error("a revoked one was spent:", err)
	}
}

// TestGrantsAreProven: one that is not good is passed over for the next, what was signed
// is spent, and nothing is if that can't be told.
func TestGrantsAreProven(t *testing.T) {
	broken := errors.New("the file of keys is being edited")
	nonce := map[string]string{"low": "00000000000000c1", "bad": "00000000000000c2", "good": "00000000000000c3"}
	vouch := func(holder approval.Holder) error {
		if holder != "uid 7" {
			return errors.New("no approver")
		}
		return nil
	}
	for name, c := range map[string]struct {
		p    consent.Proving
		want string
		err  error
	}{
		"terminal":                 {consent.Proving{Require: approval.Terminal}, "low", nil},
		"user":                     {consent.Proving{Require: approval.User, Vouch: vouch}, "bad", nil},
		"user, nobody vouches":     {consent.Proving{Require: approval.User}, "", queue.ErrNoGrant},
		"signature":                {consent.Proving{Require: approval.Signature, Signed: &keys{}}, "good", nil},
		"signature, nobody checks": {consent.Proving{Require: approval.Signature}, "", queue.ErrNoGrant},
		"signature, can't tell":    {consent.Proving{Require: approval.Signature, Signed: &keys{broken: broken}}, "", broken},
	} {
		s := newShelf(t)
		for i, id := range []string{"low", "bad", "good"} {
			g := granted(nonce[id], "bob@partner.example", id)
			g.Given = now.Add(time.Duration(i-9) * time.Minute)
			if id == "low" {
				g.Level, g.Holder = approval.Terminal, ""
			}
			s.Lay(store.Grants, g.ID, store.Item{Bytes: g.Append(nil), Writer: g.Holder})
		}
		var g approval.Grant
		err := s.update(func(tx *queue.Tx) (err error) {
			g, err = queue.Consume(tx, &c.p, "bob@partner.example", "", now)
			return err
		})
		if err == nil && g.ID != nonce[c.want] || !errors.Is(err, c.err) || (len(strings.Fields(s.ids())) == 3) != (c.err != nil) {
			t.Errorf("%s: %s, %v; %s are left", name, g.ID, err, s.ids())
		}
		if signed, ok := c.p.Signed.(*keys); ok && (signed.spent == 1) != (c.want == "good") {
			t.Errorf("%s: %d were spent", name, signed.spent)
		}
	}
}

// lacking is a store that lacks what was seen committed.
type lacking struct {
	*queuetest.Memory
	lost string
	err  error
}

func (l lacking) Update(fn func(store.View) (*store.Commit, error)) error {
	return l.Memory.Update(func(v store.View) (*store.Commit, error) { return fn(lackingView{v, l}) })
}

type lackingView struct {
	store.View
	l lacking
}

func (v lackingView) Lost() (string, error) { return v.l.lost, v.l.err }

// TestStopped: nothing starts, is carried out or spent while a person holds the queue, or
// it lacks what was committed, or that can't be told.
func TestStopped(t *testing.T) {
	root := stored(1, task.Scheduled, time.Hour, time.Hour)
	draft := chore(2, root.Task.ID, "draft", "")
	for name, c := range map[string]struct {
		held  bool
		lost  string
		err   error
		moves int
	}{"free": {moves: 3}, "held": {held: true}, "lost": {lost: "a line"}, "can't tell": {err: errBroken}} {
		s := newShelf(t, root, draft)
		g := given()
		s.Lay(store.Grants, g.ID, store.Item{Bytes: g.Append(nil)})
		if c.held {
			s.Lay(store.Hold, "", store.Item{Bytes: []byte("by hand")})
		}
		store := lacking{s.Memory, c.lost, c.err}
		run := queue.Run{Policy: queuetest.Policy, Max: 1, Now: func() time.Time { return now }}
		for _, fn := range []func(tx *queue.Tx) error{
			func(tx *queue.Tx) error {
				_, more, err := run.Next(tx, func(string) error { return nil })
				return errors.Join(err, map[bool]error{true: errors.New("more")}[more])
			},
			func(tx *queue.Tx) error { _, err := run.Chores(tx, now); return err },
			func(tx *queue.Tx) error {
				_, err := queue.Consume(tx, &consent.Proving{Require: approval.Terminal}, g.Target, "", now)
				if c.lost != "" && errors.Is(err, queue.ErrLost) || c.held && errors.Is(err, queue.ErrHeld) {
					err = nil
				}
				return err
			},
		} {
			if err := queue.Update(store, fn); !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(s.lines()) != c.moves {
			t.Errorf("%s: %v", name, s.events())
		}
	}
}

// TestHoldIsReleased by a person, and then all goes on.
func TestHoldIsReleased(t *testing.T) {
	s := newShelf(t, stored(1, task.Scheduled, time.Hour, time.Hour))
	for _, op := range []queuetest.Operation{
		queuetest.Brake(audit.Held), queuetest.Start(""), queuetest.Brake(audit.Held), queuetest.Brake(audit.Released), queuetest.Start(""),
	} {
		if err := op.Do(s, now); err != nil {
			t.Fatal(err)
		}
	}
	if want := []task.Event{audit.Held, audit.Held, audit.Released, task.Started}; !slices.Equal(s.events(), want) {
		t.Errorf("%v, want %v", s.events(), want)
	}
}

// TestSpellingsOfATarget: a grant is spent on any spelling of its target, and on no other target.
func TestSpellingsOfATarget(t *testing.T) {
	p := *queuetest.Policy
	p.Outbound.Scheme = "telegram"
	for target, want := range map[string]error{
		"42": nil, "Telegram:42": nil, "telegram:42": nil, "telegram:421": queue.ErrNoGrant, "-42": queue.ErrNoGrant, "042": queue.ErrTarget,
	} {
		s := newShelf(t)
		g := approval.Grant{ID: "g", Target: "telegram:42", By: "me", Level: approval.Terminal, Given: now, Expires: now.Add(time.Hour)}
		s.Lay(store.Grants, g.ID, store.Item{Bytes: g.Append(nil)})
		err := queue.Update(s, func(tx *queue.Tx) error {
			_, err := queue.Consume(tx, &consent.Proving{Require: approval.Terminal, Outbound: &p}, target, "", now)
			return err
		})
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", target, err, want)
		}
	}
}
