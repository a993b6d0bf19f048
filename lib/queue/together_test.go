package queue_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/queue"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// holders are the accounts of these tests.
func holders(name string) approval.Holder {
	return map[string]approval.Holder{"ann": "uid 1", "bob": "uid 2", "eve": "uid 3", "annie": "uid 1"}[name]
}

// signatures are those of these tests, by the names of their keys.
var signatures = map[string][]string{
	"ann's": {"ann", "ann@example.com"}, "ann's other": {"ann@example.com"}, "bob's": {"bob"}, "carol's": {"carol"}, "shared": {"bob", "ann"},
}

// by is the yes of an account, or the one of a key: signature@name.
func by(s *queue.Stored, who string, at time.Time) approval.Approval {
	signature, name, signed := strings.Cut(who, "@")
	if !signed {
		a := queue.Yes(s, who+" (uid 1)", approval.User, at)
		a.Holder = holders(who)
		return a
	}
	a := queue.Yes(s, name, approval.Signature, at)
	a.Signer, a.Signature = name, signature
	return a
}

// gate is a queue with one effect of ann@example.com, and the rows that say whose yes it needs.
type gate struct {
	*shelf
	run *queue.Run
	s   *queue.Stored
}

func newGate(t *testing.T, require string, count int, rows ...policy.ApprovalRow) *gate {
	t.Helper()
	return gateOf(t, "ann@example.com", require, count, rows...)
}

func gateOf(t *testing.T, author, require string, count int, rows ...policy.ApprovalRow) *gate {
	t.Helper()
	s := outward(stored(1, task.Awaiting, time.Hour, time.Hour))
	s.Identity.Sender, s.Identity.Trust, s.Decision.Count = author, terms.OwnerVerifiedEmail, count
	s.Task.Reason = string(decision.EffectPerson)
	p := policy.Default()
	p.Owners, p.Approval.Require, p.Approval.Rows = []string{author}, require, rows
	known := func(h approval.Holder) error {
		if h == "uid 3" {
			return errors.New("it is not an approver")
		}
		return nil
	}
	return &gate{newShelf(t, s), &queue.Run{
		Policy: p, Max: 1, Effect: terms.ExternalSend, Now: func() time.Time { return now }, Holder: holders, Vouch: known, Signed: &keys{names: signatures},
	}, s}
}

// agree gives a yes. The store does not know who wrote it, so it is told.
func (g *gate) agree(who string) (left string, err error) {
	s := g.find(g.s.Task.ID)
	a := by(&s, who, now)
	err = g.update(func(tx *queue.Tx) (err error) {
		left, err = g.run.Agree(tx, &s, a, now)
		return err
	})
	if err == nil && a.Level == approval.User {
		shelf := store.Approvals
		if left != "" {
			shelf = store.Partly
		}
		g.Lay(shelf, s.Task.ID, store.Item{Bytes: a.Append(nil), Writer: a.Holder})
	}
	return left, err
}

func of(count int, approvers ...string) policy.ApprovalRow {
	return policy.ApprovalRow{Count: count, Approvers: approvers}
}

// TestTogether: who gave which yes, and whether the task starts then. A yes that changes nothing is
// refused, and leaves all as it is.
func TestTogether(t *testing.T) {
	notAuthor := policy.ApprovalRow{Count: 1, NotAuthor: true}
	for name, c := range map[string]struct {
		require string
		count   int
		rows    []policy.ApprovalRow
		yeses   string // a minus before one that is refused
		starts  bool
	}{
		"one, of anybody":                   {"user", 0, nil, "ann", true},
		"one of two":                        {"user", 0, []policy.ApprovalRow{of(2)}, "ann", false},
		"two accounts":                      {"user", 0, []policy.ApprovalRow{of(2)}, "ann bob", true},
		"one account twice":                 {"user", 0, []policy.ApprovalRow{of(2)}, "ann -ann", false},
		"one account by two names":          {"user", 0, []policy.ApprovalRow{of(2, "ann", "annie")}, "ann -annie", false},
		"and then another":                  {"user", 0, []policy.ApprovalRow{of(2)}, "ann -ann bob", true},
		"not listed":                        {"user", 0, []policy.ApprovalRow{of(1, "bob")}, "-ann", false},
		"listed":                            {"user", 0, []policy.ApprovalRow{of(1, "bob")}, "-ann bob", true},
		"the second is not listed":          {"user", 0, []policy.ApprovalRow{of(2, "bob", "carol")}, "bob -ann", false},
		"two keys of one principal":         {"signature", 0, []policy.ApprovalRow{of(2)}, "ann's@ann@example.com -ann's,other@ann@example.com", false},
		"two keys that share a name":        {"signature", 0, []policy.ApprovalRow{of(2)}, "ann's@ann -ann's,other@ann@example.com", false},
		"one key of two names":              {"signature", 0, []policy.ApprovalRow{of(2, "ann", "bob")}, "shared@ann -shared@bob", false},
		"two keys":                          {"signature", 0, []policy.ApprovalRow{of(2)}, "ann's@ann bob's@bob", true},
		"two keys, and a list":              {"signature", 0, []policy.ApprovalRow{of(2, "bob", "carol")}, "bob's@bob carol's@carol", true},
		"a key of nobody":                   {"signature", 0, []policy.ApprovalRow{of(2)}, "-stray@bob ann's@ann", false},
		"account and key of one name":       {"user", 0, []policy.ApprovalRow{of(2, "ann", "bob")}, "ann -ann's@ann", false},
		"account and key of two names":      {"user", 0, []policy.ApprovalRow{of(2, "ann", "bob")}, "ann bob's@bob", true},
		"key and account of two names":      {"user", 0, []policy.ApprovalRow{of(2, "ann", "bob")}, "bob's@bob ann", true},
		"account and key, and no list":      {"user", 0, []policy.ApprovalRow{of(2)}, "ann -carol's@carol bob", true},
		"the author's account":              {"user", 0, []policy.ApprovalRow{notAuthor}, "-ann bob", true},
		"the author's key":                  {"signature", 0, []policy.ApprovalRow{notAuthor}, "-ann's@ann -ann's,other@ann@example.com carol's@carol", true},
		"the author's key by another name":  {"signature", 0, []policy.ApprovalRow{notAuthor}, "-shared@bob", false},
		"two rows, one yes for both":        {"user", 0, []policy.ApprovalRow{of(1, "ann", "bob"), of(1, "bob")}, "bob", true},
		"two rows, and a yes for each":      {"user", 0, []policy.ApprovalRow{of(1, "ann"), of(1, "bob")}, "ann bob", true},
		"two were wanted when it came":      {"user", 2, nil, "ann", false},
		"and two agreed":                    {"user", 2, nil, "ann -ann bob", true},
		"two came, and a list":              {"user", 2, []policy.ApprovalRow{of(2, "bob", "annie")}, "-eve bob -bob", false},
		"two came, and one is listed":       {"user", 2, []policy.ApprovalRow{of(1, "bob")}, "-ann bob -ann", false},
		"at level terminal, by their names": {"terminal", 0, []policy.ApprovalRow{of(2)}, "ann -ann bob", true},
	} {
		g := newGate(t, c.require, c.count, c.rows...)
		for _, who := range strings.Fields(c.yeses) {
			who, refused := strings.CutPrefix(strings.ReplaceAll(who, ",", " "), "-")
			before := len(g.lines())
			left, err := g.agree(who)
			if errors.Is(err, consent.ErrNotGood) != refused || !refused && err != nil || refused && len(g.lines()) != before {
				t.Errorf("%s: %s: %q, %v", name, who, left, err)
			}
		}
		claim, err := g.next(g.run)
		if err != nil || (claim != nil) != c.starts {
			t.Errorf("%s: started %t, %v", name, claim != nil, err)
		}
	}
}

// TestAuthorByTaggedKey: nor does it in the name of a key.
func TestAuthorByTaggedKey(t *testing.T) {
	signatures["ann's tagged"] = []string{"ann+phone@example.com"}
	defer delete(signatures, "ann's tagged")
	for author, refused := range map[string]bool{"ann@example.com": true, "ann+agent@example.com": true, "bob@example.com": false} {
		g := gateOf(t, author, "signature", 0, policy.ApprovalRow{Count: 1, NotAuthor: true})
		if _, err := g.agree("ann's tagged@ann+phone@example.com"); errors.Is(err, consent.ErrNotGood) != refused {
			t.Errorf("what %s wants: %v", author, err)
		}
	}
}

// TestAuthorWithTag: what follows a + in an address makes no other author.
func TestAuthorWithTag(t *testing.T) {
	for require, who := range map[string][]string{"user": {"ann"}, "signature": {"ann's@ann", "ann's other@ann@example.com"}} {
		for _, who := range who {
			for _, author := range []string{"ann@example.com", "ann+agent@example.com", "Ann+x+y@example.com"} {
				g := gateOf(t, author, require, 0, policy.ApprovalRow{Count: 1, NotAuthor: true})
				if _, err := g.agree(who); !errors.Is(err, consent.ErrNotGood) {
					t.Errorf("%s, of what %s wants: %v", who, author, err)
				}
			}
		}
	}
}

// TestForgedTogether: whatever lies in the queue, the policy of the moment is obeyed at the start, and
// every yes is proven there.
func TestForgedTogether(t *testing.T) {
	for name, c := range map[string]struct {
		require     string
		first, last string // laid, without a word
		starts      bool
	}{
		"two":                                    {"user", "ann", "bob", true},
		"one, and the policy wants two":          {"user", "", "bob", false},
		"one twice":                              {"user", "bob", "bob", false},
		"by two names":                           {"user", "annie", "ann", false},
		"of an account that is no approver":      {"user", "eve", "bob", false},
		"last of an account that is no approver": {"user", "ann", "eve", false},
		"two keys":                               {"signature", "ann's@ann", "bob's@bob", true},
		"signed by no key":                       {"signature", "stray@ann", "bob's@bob", false},
		"one key by two names":                   {"signature", "shared@ann", "shared@bob", false},
		"two keys of one":                        {"signature", "ann's@ann", "ann's other@ann@example.com", false},
		"an account beside a key":                {"signature", "ann", "bob's@bob", false},
		"says it is signed":                      {"user", "stray@ann", "bob", false},
	} {
		g := newGate(t, c.require, 0, of(2))
		s := g.find(g.s.Task.ID)
		last := by(&s, c.last, now)
		if err := g.update(func(tx *queue.Tx) error { return queue.Approve(tx, &s, last, now) }); err != nil {
			t.Fatal(err)
		}
		g.Lay(store.Approvals, s.Task.ID, store.Item{Bytes: last.Append(nil), Writer: last.Holder})
		if c.first != "" {
			first := by(&s, c.first, now)
			g.Lay(store.Partly, s.Task.ID, store.Item{Bytes: first.Append(nil), Writer: first.Holder})
		}
		claim, err := g.next(g.run)
		if err != nil || (claim != nil) != c.starts {
			t.Errorf("%s: started %t, %v", name, claim != nil, err)
		}
		if after := g.find(s.Task.ID); !c.starts && (after.Task.State != task.Awaiting || after.Task.Partly != "") {
			t.Errorf("%s: it is %s, partly %q: want it to wait for new yeses", name, after.Task.State, after.Task.Partly)
		}
	}
}

// TestFirstLapses: the first yes counts until it expires, is taken back by a no, and a yes that was
// not enough leaves what is signed elsewhere as it is.
func TestFirstLapses(t *testing.T) {
	g := newGate(t, "user", 0, of(2))
	before := g.find(g.s.Task.ID)
	if left, err := g.agree("ann"); err != nil || left != "a second person's yes" {
		t.Fatalf("%q, %v", left, err)
	}
	one := g.find(g.s.Task.ID)
	if one.Task.Partly != "ann (uid 1)" || !one.Task.Since.Equal(before.Task.Since) || one.Task.State != task.Awaiting {
		t.Errorf("%+v", one.Task)
	}
	asked, again := queue.Asked(&before, new(clock.Clock), time.Hour), queue.Asked(&one, new(clock.Clock), time.Hour)
	if string(asked.Statement()) != string(again.Statement()) {
		t.Errorf("%s, and after the first yes %s", asked.Statement(), again.Statement())
	}
	late := now.Add(approval.Lifetime)
	g.view(func(v store.View) error {
		for at, want := range map[time.Time]string{now: "a second person's yes; ann said yes at 2026-11-21T07:00:00Z", late: "the yeses of two people"} {
			if got, err := g.run.Wants(v, &one, at); err != nil || got != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		}
		return nil
	})
	second := by(&one, "bob", late)
	if err := g.update(func(tx *queue.Tx) error {
		left, err := g.run.Agree(tx, &one, second, late)
		if left == "" {
			t.Error("a second yes counts with one that has expired")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := g.update(func(tx *queue.Tx) error { return queue.Deny(tx, &one, "ann", approval.User, "no", late) }); err != nil {
		t.Fatal(err)
	}
	g.view(func(v store.View) error {
		if there, err := v.Has(store.Partly, one.Task.ID); there || err != nil {
			t.Errorf("after a no, the first yes is there: %t, %v", there, err)
		}
		return nil
	})
}

// TestTwoSpend: two yeses are spent together, and come back together.
func TestTwoSpend(t *testing.T) {
	g := newGate(t, "signature", 0, of(2))
	for _, who := range []string{"ann's@ann", "bob's@bob"} {
		if _, err := g.agree(who); err != nil {
			t.Fatal(err)
		}
	}
	claim, err := g.next(g.run)
	if err != nil || claim == nil || g.run.Signed.(*keys).spent != 2 {
		t.Fatalf("%v, %v", claim, err)
	}
	g.view(func(v store.View) error {
		if first, err := queue.FirstOf(v, g.s.Task.ID); first == nil || err != nil {
			t.Errorf("while it runs, the first yes is gone: %v", err)
		}
		return nil
	})
}

// TestNoGrantTogether: what is given ahead is not the yes that a row wants.
func TestNoGrantTogether(t *testing.T) {
	for _, rows := range [][]policy.ApprovalRow{nil, {of(1, "ann")}} {
		g := newGate(t, "user", 0, rows...)
		one := granted("00000000000000b1", "bob@partner.example", "")
		one.Level, one.Holder = approval.User, "uid 1"
		g.Lay(store.Grants, one.ID, store.Item{Bytes: one.Append(nil), Writer: one.Holder})
		s := g.find(g.s.Task.ID)
		if claim, err := g.next(g.run); err != nil || (claim != nil) != (rows == nil) {
			t.Errorf("%v: started %t (%s), %v", rows, claim != nil, s.Task.Reason, err)
		}
	}
}

// unread is a store of which a shelf can't be read.
type unread struct {
	store.Store
	shelf store.Shelf
	err   error
}

type unreadView struct {
	store.View
	of unread
}

func (u unread) Update(fn func(store.View) (*store.Commit, error)) error {
	return u.Store.Update(func(v store.View) (*store.Commit, error) { return fn(unreadView{v, u}) })
}

func (v unreadView) Get(s store.Shelf, key string) (store.Item, error) {
	if s == v.of.shelf {
		return store.Item{}, v.of.err
	}
	return v.View.Get(s, key)
}

// TestFirstUnread: while the disk fails, nobody's first yes is replaced, and no task is parked for
// want of it.
func TestFirstUnread(t *testing.T) {
	g := newGate(t, "user", 0, of(2))
	if _, err := g.agree("ann"); err != nil {
		t.Fatal(err)
	}
	one, failing := g.find(g.s.Task.ID), unread{g.Memory, store.Partly, syscall.EIO}
	if err := queue.Update(failing, func(tx *queue.Tx) error {
		left, err := g.run.Agree(tx, &one, by(&one, "bob", now), now)
		return cmp.Or(err, fmt.Errorf("recorded: %q", left))
	}); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	if _, err := g.agree("bob"); err != nil {
		t.Fatal(err)
	}
	before := len(g.lines())
	err := queue.Update(failing, func(tx *queue.Tx) error {
		_, _, err := g.run.Next(tx, func(string) error { return nil })
		return err
	})
	if !errors.Is(err, syscall.EIO) || len(g.lines()) > before {
		t.Errorf("%v, %d lines more", err, len(g.lines())-before)
	}
	if claim, err := g.next(g.run); claim == nil || err != nil {
		t.Errorf("%v, %v", claim, err)
	}
}
