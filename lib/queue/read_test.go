package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// got is a value that was read, in words, and the error.
func got[T any](v T, err error) (string, error) { return fmt.Sprint(v), err }

// TestReads: what each read makes of a thing that is absent, as it should be, for
// something else, no JSON, or of the wrong kind; and of a store that fails.
func TestReads(t *testing.T) {
	mine := yes()
	theirs := *mine
	theirs.Task = two
	grant, session := given(), opened(2, approval.Terminal)
	pos := store.Position{Source: "s", UIDValidity: 7, UID: 1, Received: now}
	elsewhere := store.Position{Source: "r", UIDValidity: 7, UID: 1, Received: now}
	held := audit.Line{Time: now, Event: audit.Held, By: "me"}
	key := store.PositionKey("s")
	approvalOf := func(v store.View) (string, error) {
		a, err := queue.ApprovalOf(v, one)
		if a == nil {
			return "none", err
		}
		return fmt.Sprint(a.By, a.Holder), err
	}
	grantsOf := func(v store.View) (string, error) {
		list, err := queue.GrantsOf(v)
		s := ""
		for _, g := range list {
			s += fmt.Sprint(g.ID, g.Holder)
		}
		return s, err
	}
	sessionsOf := func(v store.View) (string, error) {
		list, err := queue.SessionsOf(v)
		s := ""
		for _, one := range list {
			s += fmt.Sprint(one.ID, one.Left)
		}
		return s, err
	}
	position := func(v store.View) (string, error) {
		p, known, err := queue.PositionOf(v, "s")
		return fmt.Sprint(p.UID, known), err
	}
	hold := func(v store.View) (string, error) { return got(queue.Held(v)) }
	result := func(v store.View) (string, error) {
		b, err := queue.ResultOf(v, one)
		return string(b), err
	}
	outbox := func(v store.View) (string, error) {
		b, err := queue.OutboxOf(v, one)
		return string(b), err
	}
	pruned := func(v store.View) (string, error) { return got(queue.PrunedOf(v, one)) }
	for _, c := range []struct {
		name  string
		shelf store.Shelf
		key   string
		lies  string
		read  func(store.View) (string, error)
		want  string
		err   error
	}{
		{"no approval", store.Approvals, one, "", approvalOf, "none", nil},
		{"an approval", store.Approvals, one, string(mine.Append(nil)), approvalOf, "meuid 7", nil},
		{"another task's", store.Approvals, one, string(theirs.Append(nil)), approvalOf, "none", store.ErrCorrupt},
		{"no JSON", store.Approvals, one, "{", approvalOf, "none", store.ErrCorrupt},
		{"an empty file", store.Approvals, one, "\n", approvalOf, "none", store.ErrCorrupt},
		{"another kind", store.Approvals, one, `{"task":1}`, approvalOf, "none", store.ErrCorrupt},
		{"no grant", store.Grants, "a1", "", grantsOf, "", nil},
		{"a grant", store.Grants, "a1", string(grant.Append(nil)), grantsOf, "a1uid 7", nil},
		{"a grant of another name", store.Grants, "a2", string(grant.Append(nil)), grantsOf, "", nil},
		{"a grant for nobody", store.Grants, "a1", `{"id":"a1"}`, grantsOf, "", nil},
		{"no JSON", store.Grants, "a1", "{", grantsOf, "", nil},
		{"no session", store.Sessions, "b1", "", sessionsOf, "", nil},
		{"a session", store.Sessions, "b1", string(session.Append(nil)), sessionsOf, "b12", nil},
		{"a session of another name", store.Sessions, "b2", string(session.Append(nil)), sessionsOf, "", nil},
		{"a session without bounds", store.Sessions, "b1", `{"id":"b1","sender":"s"}`, sessionsOf, "", nil},
		{"no hold", store.Hold, "", "", hold, "", nil},
		{"a hold", store.Hold, "", string(held.Append(nil)), hold, "held since 2026-11-21T07:00:00Z by me", nil},
		{"a hold by hand", store.Hold, "", "\n", hold, "held by a file made by hand", nil},
		{"a hold half written", store.Hold, "", string(held.Append(nil)[:60]), hold, "held by a file made by hand", nil},
		{"a hold of the wrong kind", store.Hold, "", `{"time":"2026-11-21T07:00:00Z","by":7}`, hold, "held by a file made by hand", nil},
		{"no result", store.Results, one, "", result, "", nil},
		{"a result", store.Results, one, "{", result, "{", nil},
		{"no outbox", store.Outbox, one, "", outbox, "", nil},
		{"an outbox", store.Outbox, one, "x", outbox, "x", nil},
		{"never pruned", store.Pruned, one, "", pruned, "", nil},
		{"pruned", store.Pruned, one, "failed", pruned, "failed", nil},
		{"no position", store.Positions, key, "", position, "0 false", nil},
		{"a position", store.Positions, key, string(pos.Append(nil)), position, "1 true", nil},
		{"another source's", store.Positions, key, string(elsewhere.Append(nil)), position, "1 true", store.ErrCorrupt},
		{"no JSON", store.Positions, key, "{", position, "0 true", store.ErrCorrupt},
	} {
		s := newShelf(t)
		if c.lies != "" {
			s.Lay(c.shelf, c.key, store.Item{Bytes: []byte(c.lies), Writer: "uid 7"})
		}
		read := func() (what string, err error) {
			err = s.View(func(v store.View) error {
				what, err = c.read(v)
				return err
			})
			return what, err
		}
		if what, err := read(); what != c.want || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s, %s: %q, %v; want %q, %v", c.shelf, c.name, what, err, c.want, c.err)
		}
		for _, step := range []string{"Get", "Each"} {
			asked := false
			s.Fail = func(name string) error {
				if asked = asked || name == step; name == step {
					return errBroken
				}
				return nil
			}
			if what, err := read(); asked != errors.Is(err, errBroken) {
				t.Errorf("%s, %s, and %s fails: %q, %v", c.shelf, c.name, step, what, err)
			}
		}
	}
}

// TestReadsInOrder: grants and sessions by the time they were given, however they lie,
// and whatever lies before them.
func TestReadsInOrder(t *testing.T) {
	s := newShelf(t)
	for _, shelf := range []store.Shelf{store.Grants, store.Sessions} { // the first one is good for nothing
		s.Lay(shelf, "0", store.Item{Bytes: []byte("{")})
	}
	for i, at := range []time.Duration{2, 0, 1, 1} {
		g, one := given(), opened(2, approval.Terminal)
		g.ID, g.Given = fmt.Sprintf("a%d", i), now.Add(at*time.Minute)
		one.ID, one.Opened = fmt.Sprintf("b%d", 9-i), g.Given
		s.Lay(store.Grants, g.ID, store.Item{Bytes: g.Append(nil)})
		s.Lay(store.Sessions, one.ID, store.Item{Bytes: one.Append(nil)})
		s.Lay(store.Outbox, fmt.Sprintf("%032x", 9-i), store.Item{Bytes: []byte("x")})
	}
	s.view(func(v store.View) error {
		var ids []string
		grants, err := queue.GrantsOf(v)
		for _, g := range grants {
			ids = append(ids, g.ID)
		}
		sessions, sessionsErr := queue.SessionsOf(v)
		for _, one := range sessions {
			ids = append(ids, one.ID)
		}
		if want := []string{"a1", "a2", "a3", "a0", "b8", "b6", "b7", "b9"}; !slices.Equal(ids, want) {
			t.Errorf("%v, want %v", ids, want)
		}
		parents, parentsErr := queue.Proposers(v)
		if len(parents) != 4 || parents[0] != fmt.Sprintf("%032x", 9) || parents[3] != fmt.Sprintf("%032x", 6) {
			t.Errorf("%v", parents)
		}
		return errors.Join(err, sessionsErr, parentsErr)
	})
}

// TestLastRead is when the last position was moved.
func TestLastRead(t *testing.T) {
	s := newShelf(t)
	for i, want := range []time.Time{{}, now.Add(time.Second), now.Add(2 * time.Second)} {
		if i > 0 {
			p := store.Position{Source: fmt.Sprint("s", i), UID: 1}
			if err := s.update(func(tx *queue.Tx) error { tx.Position(p, want); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		s.view(func(v store.View) error {
			last, err := queue.LastRead(v)
			if !last.Equal(want) {
				t.Errorf("%s, want %s", last, want)
			}
			return err
		})
	}
}

// TestLoad: a task that can't be read is ErrCorrupt, and what is known of it is there.
func TestLoad(t *testing.T) {
	for name, c := range map[string]struct {
		file, meta string // "": as it is
		err        error
	}{
		"as it is":                  {"", "", nil},
		"no JSON":                   {"{", "", store.ErrCorrupt},
		"another task's":            {string(func() []byte { b, _ := file(2); return b }()), "", store.ErrCorrupt},
		"meta that is no JSON":      {"", "{", store.ErrCorrupt},
		"meta of the wrong kind":    {"", `{"attempts":"two"}`, store.ErrCorrupt},
		"meta that says other ends": {"", `{"attempts":7}`, nil},
	} {
		is := stored(1, task.Failed, time.Hour, time.Minute)
		is.Task.Attempts, is.Task.Reason = 3, "r"
		s := newShelf(t, is)
		for shelf, b := range map[store.Shelf]string{store.On(task.Failed): c.file, store.Meta: c.meta} {
			if b != "" {
				s.Lay(shelf, is.Task.ID, store.Item{Bytes: []byte(b)})
			}
		}
		err := s.View(func(v store.View) error {
			found, err := queue.Find(v, is.Task.ID)
			if found.Task.ID != is.Task.ID || found.Task.State != task.Failed || (c.file == "") != (found.Task.Digest == is.Task.Digest) {
				t.Errorf("%s: %+v", name, found.Task)
			}
			if name == "as it is" && (found.Task != is.Task || found.Decision.Action != terms.ReadPublic) {
				t.Errorf("%+v, want %+v", found.Task, is.Task)
			}
			if c.meta == `{"attempts":7}` && found.Task.Attempts != 7 {
				t.Errorf("%+v", found.Task)
			}
			return err
		})
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLoadBeforeAnythingHappened: its change is the decision's.
func TestLoadBeforeAnythingHappened(t *testing.T) {
	b, l := file(1)
	s := newShelf(t)
	if err := s.update(func(tx *queue.Tx) error { return tx.Add(b, l) }); err != nil {
		t.Fatal(err)
	}
	s.Lay(store.Meta, two, store.Item{Bytes: []byte(`{"attempts":7}`)}) // another one's
	if is := s.find(l.Task); is.Task.Change != is.First() || !is.Task.Since.Equal(is.Task.Created) {
		t.Errorf("%+v", is.Task)
	}
}

// TestWhole: a few digits are enough, where they say which task; open tasks come first.
func TestWhole(t *testing.T) {
	id := func(head string) string { return head + strings.Repeat("0", 32-len(head)) }
	lay := func(s *shelf, head string, on store.Shelf) {
		s.Lay(on, id(head), store.Item{Bytes: []byte("failed")})
	}
	s := newShelf(t)
	lay(s, "abcd1", store.On(task.Scheduled))
	lay(s, "abcd2", store.On(task.Completed))
	lay(s, "bbbb1", store.On(task.Running))
	lay(s, "bbbb2", store.On(task.Awaiting))
	lay(s, "cccc1", store.On(task.Failed))
	lay(s, "cccc2", store.On(task.Rejected))
	lay(s, "dddd1", store.Pruned)
	lay(s, "eeee1", store.Pruned)
	lay(s, "eeee2", store.On(task.Completed))
	lay(s, "ffff1", store.On(task.Corrupt))
	for prefix, want := range map[string]string{
		"abcd": id("abcd1"), "abcd1": id("abcd1"), "abcd2": id("abcd2"), "dddd": id("dddd1"), "eeee1": id("eeee1"), "ffff": id("ffff1"),
		id("9999"): id("9999"), // a whole one
		"bbbb":     "is the beginning of more than one id",
		"cccc":     "is the beginning of more than one id",
		"eeee":     "is the beginning of more than one id",
		"abcd3":    "no such task", "0000": "no such task",
		"abc": "too short, want 4 digits", "": "too short", "ABCD": "is no id", "abcd*": "is no id", "../x": "is no id",
		id("abcd1") + "0": "no such task",
	} {
		got, err := queue.Whole(s, prefix)
		if err == nil && got != want || err != nil && (got != "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %s, %v; want %s", prefix, got, err, want)
		}
		if ambiguous := strings.Contains(want, "more than one"); err != nil && errors.Is(err, store.ErrUnknown) == ambiguous {
			t.Errorf("%s: %v", prefix, err)
		}
	}
}

// TestFind: what has no file is ErrUnknown, pruned or never there.
func TestFind(t *testing.T) {
	s := newShelf(t)
	s.Lay(store.Pruned, one, store.Item{Bytes: []byte("failed")})
	s.failOn("Get") // there is nothing to get
	for _, id := range []string{one, two, ""} {
		if err := s.View(func(v store.View) error { _, err := queue.Find(v, id); return err }); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
	}
	s.failOn("Where")
	if err := s.View(func(v store.View) error { _, err := queue.Find(v, one); return err }); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}
