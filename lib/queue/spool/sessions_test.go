package spool

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// sessionsLeft returns what is left of the sessions of a queue, by id.
func sessionsLeft(t *testing.T, dir string) map[string]int {
	t.Helper()
	left := map[string]int{}
	err := opened(t, dir).View(func(v store.View) error {
		list, err := queue.SessionsOf(v)
		for _, s := range list {
			left[s.ID] = s.Left
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// TestSessionIsCountedDown: in the Update that takes a task, and by nothing else.
func TestSessionIsCountedDown(t *testing.T) {
	s := made(t)
	do(t, s, session("b1", 3, 9999*time.Hour))
	stranger := strings.Replace(sessionMail(4, "b1"), "me@example.com", "it@example.com", 1)
	rejected := strings.Replace(sessionMail(5, "b1"), `"outcome":"allow"`, `"outcome":"reject"`, 1)
	review := strings.Replace(sessionMail(6, "b1"), `"outcome":"allow"`, `"outcome":"require_owner_confirmation"`, 1)
	for _, c := range []struct {
		line                string
		left, free, waiting int
	}{
		{sessionMail(1, "b1"), 2, 1, 0},
		{sessionMail(1, "b1"), 2, 1, 0}, // known
		{mail(2, "allow"), 2, 2, 0},     // no need of it
		{sessionMail(3, "b9"), 2, 2, 1}, // there is no such session
		{sessionMail(7, ""), 2, 2, 2},
		{stranger, 2, 2, 3},
		{rejected, 2, 2, 3},
		{review, 1, 2, 4}, // it waits for another reason
		{sessionMail(8, "b1"), 0, 3, 4},
		{sessionMail(9, "b1"), 0, 3, 5},
	} {
		do(t, s, add(c.line))
		free, waiting := in(t, s, task.Scheduled), in(t, s, task.Awaiting)
		if left := sessionsLeft(t, s.dir)["b1"]; left != c.left || len(free) != c.free || len(waiting) != c.waiting {
			t.Errorf("%s\n%d uses left, %d scheduled, %d wait; want %d, %d, %d", c.line, left, len(free), len(waiting), c.left, c.free, c.waiting)
		}
	}
	if _, err := os.Stat(s.dir + "/sessions/b1.json"); err == nil {
		t.Error("a session that is used up is still there")
	}
	s.View(func(v store.View) error {
		for i, id := range in(t, s, task.Awaiting) {
			stored, err := queue.Load(v, task.Awaiting, id)
			if want := i != 3; err != nil || (stored.Task.Reason == store.ReasonSessionSpent) != want {
				t.Errorf("%d: %s, %v", i, stored.Task.Reason, err)
			}
		}
		return nil
	})
	if r, err := s.Verify(""); err != nil || len(r.Findings) > 0 {
		t.Errorf("%q, %v", r.Findings, err)
	}
}

// TestEffectCostsNoSession: an effect has the trust of the ask that paid for it.
func TestEffectCostsNoSession(t *testing.T) {
	s := made(t)
	do(t, s, session("b1", 3, 9999*time.Hour))
	do(t, s, add(strings.Replace(effect(1), `"trust":"owner_verified_email"`, `"trust":"approved_session","session":"b1"`, 1)))
	if left := sessionsLeft(t, s.dir)["b1"]; left != 3 {
		t.Error(left)
	}
	if waiting := in(t, s, task.Awaiting); len(waiting) != 1 {
		t.Error(waiting)
	}
}

// TestExpiredSessionGoes: with the next add, whatever that is about.
func TestExpiredSessionGoes(t *testing.T) {
	s := made(t)
	do(t, s, session("b1", 3, time.Hour), add(mails(1, 1)...))
	if left := sessionsLeft(t, s.dir); len(left) != 1 {
		t.Error(left)
	}
	if err := add(mails(2, 1)...).Do(s, epoch.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if left := sessionsLeft(t, s.dir); len(left) != 0 {
		t.Error(left)
	}
	s.View(func(v store.View) error {
		return v.Back(func(l audit.Line) bool {
			if l.Event == audit.SessionEnded {
				if l.Change.Reason != "expired" || l.By != "" {
					t.Errorf("%+v", l)
				}
				return false
			}
			return true
		})
	})
}

// TestVerifyFindsSessionsByHand: sessions that no person opened, and uses that were put back.
func TestVerifyFindsSessionsByHand(t *testing.T) {
	forged := approval.Session{ID: "f", Sender: "me@example.com", Max: 9, Left: 9, Opened: epoch, Expires: epoch.Add(time.Hour)}
	line := func(e task.Event, s approval.Session) operation {
		return update("forge", func(tx *queue.Tx, now time.Time) error {
			return tx.Log(audit.Line{Time: now, Event: e, Session: &s})
		})
	}
	for name, c := range map[string]struct {
		change func(s *Spool)
		want   string
	}{
		"nothing": {func(*Spool) {}, ""},
		"a file": {func(s *Spool) {
			write(t, s.dir+"/sessions/f.json", string(forged.Append(nil)))
		}, "sessions/f.json: the log knows nothing of it"},
		"a use of none":    {func(s *Spool) { do(t, s, line(audit.SessionUsed, forged)) }, "session f was not what it was"},
		"an end of none":   {func(s *Spool) { do(t, s, line(audit.SessionEnded, forged)) }, "session f was not what it was"},
		"opened twice":     {func(s *Spool) { do(t, s, line(audit.SessionOpened, forged), line(audit.SessionOpened, forged)) }, "session f was not what it was"},
		"used and not one": {func(s *Spool) { do(t, s, line(audit.SessionOpened, forged), line(audit.SessionUsed, forged)) }, "session f was not what it was"},
	} {
		s := made(t)
		do(t, s, session("b1", 3, 9999*time.Hour), add(sessionMail(1, "b1")))
		c.change(s)
		r, err := s.Verify("")
		if all := strings.Join(r.Findings, "; "); err != nil || !strings.Contains(all, c.want) || (all == "") != (c.want == "") {
			t.Errorf("%s: %q, %v", name, all, err)
		}
	}
}

// TestUsesAreNoRefusals: a log that is read from its beginning gives the same.
func TestUsesAreNoRefusals(t *testing.T) {
	s := made(t)
	do(t, s, session("b1", 5, 9999*time.Hour), add(sessionMail(1, "b1"), sessionMail(2, "b1")), refuse)
	refused := func() (n int) {
		t.Helper()
		if err := s.View(func(v store.View) error { n = v.Counts().Refused; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := refused()
	for _, name := range []string{"checkpoint", "agenda"} {
		if err := os.Remove(s.dir + "/" + name); err != nil {
			t.Fatal(err)
		}
	}
	do(t, s, nothing)
	if after := refused(); before != 2 || after != before {
		t.Errorf("%d refused, then %d", before, after)
	}
}

// TestCommittedIsTold: what is durable, in order, and nothing of an Update that failed.
func TestCommittedIsTold(t *testing.T) {
	s := made(t)
	var told []string
	s.OnCommit(func(l *audit.Line) { told = append(told, string(l.Event)+" "+string(l.To)) })
	do(t, s, add(mails(1, 2)...), add(mails(1, 2)...), add(effect(1)))
	failed := queue.Update(s, func(tx *queue.Tx) error {
		if err := tx.Log(audit.Line{Time: epoch, Event: audit.Held}); err != nil {
			return err
		}
		return os.ErrInvalid
	})
	if got := strings.Join(told, ", "); failed == nil || got != "added scheduled, added scheduled, added awaiting_review" {
		t.Errorf("%v, %s", failed, got)
	}
}

// TestYesToSpentSession: it is good for a day, as any other, though the record says
// that it is allowed.
func TestYesToSpentSession(t *testing.T) {
	for late, want := range map[time.Duration]task.State{time.Hour: task.Running, approval.Lifetime: task.Awaiting} {
		s := made(t)
		do(t, s, add(sessionMail(1, "b1")), start(""))
		if waiting := in(t, s, task.Awaiting); len(waiting) != 1 {
			t.Fatalf("%v wait", waiting)
		}
		do(t, s, update("approve for a day", func(tx *queue.Tx, now time.Time) error {
			shown, _, err := first(tx, task.Awaiting)
			if err != nil {
				return err
			}
			return queue.Approve(tx, &shown, queue.Yes(&shown, "me", approval.Terminal, now), now)
		}))
		if err := start("").Do(s, epoch.Add(late)); err != nil {
			t.Fatal(err)
		}
		if got := in(t, s, want); len(got) != 1 {
			t.Errorf("after %s: nothing is %s", late, want)
		}
	}
	s := made(t)
	do(t, s, session("b1", 1, time.Hour), add(sessionMail(1, "b1")))
	if err := start("").Do(s, epoch.Add(999*time.Hour)); err != nil || len(in(t, s, task.Running)) != 1 {
		t.Errorf("what was taken within it does not stay so: %v", err)
	}
}

// TestSignedSessionIsKept: it is proven anew where an ask starts: so it stays when it
// is used up, and for a day after it expired, though it can't be used any more. One
// that is opened then ends one that is live, and no other.
func TestSignedSessionIsKept(t *testing.T) {
	open := func(id string) operation {
		return update("open "+id, func(tx *queue.Tx, now time.Time) error {
			return queue.OpenSession(tx, approval.Session{
				ID: id, Sender: "me@example.com", Max: 1, Left: 1, Level: approval.Signature,
				Signer: "me", Signature: "armor", Opened: now, Expires: now.Add(time.Hour),
			})
		})
	}
	s := made(t)
	do(t, s, open("b1"), add(sessionMail(1, "b1")), add(sessionMail(2, "b1")))
	if left, known := sessionsLeft(t, s.dir)["b1"]; !known || left != 0 || len(in(t, s, task.Scheduled)) != 1 || len(in(t, s, task.Awaiting)) != 1 {
		t.Errorf("%d left, %v", left, known)
	}
	for _, c := range []struct {
		op   operation
		at   time.Duration
		want string
	}{
		{add(sessionMail(3, "b1")), 2 * time.Hour, "b1"},
		{open("b2"), 2 * time.Hour, "b1 b2"},
		{open("b3"), 150 * time.Minute, "b1 b3"},
		{add(mails(4, 1)...), time.Hour + approval.Kept - time.Second, "b1 b3"},
		{add(mails(5, 1)...), time.Hour + approval.Kept + time.Minute, "b3"},
		{add(mails(6, 1)...), 98 * time.Hour, "b3"}, // the clock may have jumped
		{add(mails(7, 1)...), 99 * time.Hour, ""},
	} {
		if err := c.op.Do(s, epoch.Add(c.at)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(sessionsLeft(t, s.dir))), " "); got != c.want {
			t.Errorf("after %s: %q, want %q", c.at, got, c.want)
		}
	}
	if n := len(in(t, s, task.Awaiting)); n != 2 {
		t.Errorf("%d wait", n)
	}
	if r, err := s.Verify(""); err != nil || len(r.Findings) > 0 {
		t.Errorf("%q, %v", r.Findings, err)
	}
}
