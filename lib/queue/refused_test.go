package queue_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// keeping is batch, and what the policy rejects is kept.
func (s *shelf) keeping(lines ...string) *queue.Batch {
	b := s.batch(lines...)
	b.Keep, b.Spare = time.Hour, 1<<30
	return b
}

// kept are the refused records that are kept, oldest first.
func (s *shelf) kept() (list []queue.Stored) {
	s.t.Helper()
	s.view(func(v store.View) error {
		list = nil
		return v.Each(store.Refused, func(id string, _ time.Time) (bool, error) {
			one, err := queue.RefusedOf(v, id)
			list = append(list, one)
			return true, err
		})
	})
	return list
}

func (s *shelf) counts() (c store.Counts) {
	s.view(func(v store.View) error {
		c = v.Counts()
		return nil
	})
	return c
}

// TestKeptWithoutText: what stages decide on stays, and no word of the text does, wherever it
// stands.
func TestKeptWithoutText(t *testing.T) {
	s := newShelf(t)
	line := strings.Replace(queuetest.Wordy(1, terms.Reject), `[["Date"`,
		`[["From","me@example.com"],["Subject","a subject"],["Date"`, 1)
	line = strings.Replace(line, `"received"`, `"more":"a text","defects":["bare_lf"],"received"`, 1)
	line = strings.TrimSuffix(line, "}") + `,"extract":{"v":"a text"}}`
	s.commit(s.keeping(line))
	list := s.kept()
	if len(list) != 1 {
		t.Fatal(list)
	}
	file := string(list[0].File)
	for _, word := range []string{"a text", "a.txt", "attachments", "truncated", "extract", "more"} {
		if strings.Contains(file, word) {
			t.Errorf("%s stands in %s", word, file)
		}
	}
	one := list[0]
	if m := one.Message; m == nil || len(m.Headers) != 3 || m.Body == "" || m.ID != "<1@t>" || m.UID != 1 || !m.Has("bare_lf") || one.Shown.Subject != "a subject" {
		t.Errorf("%+v", m)
	}
	if one.Decision.Outcome != terms.Reject || one.Identity.Sender != "me@example.com" || !one.Task.Refused || one.Task.State != task.Rejected {
		t.Errorf("%+v", one)
	}
	l := s.lines()[0]
	if l.Digest != one.Task.Digest || l.Size != int64(len(file)) || l.Digest != task.Digest([]byte(file)) {
		t.Errorf("%+v", l)
	}
}

// TestNotKept: what is not kept, and what the line says of that.
func TestNotKept(t *testing.T) {
	long := strings.Replace(queuetest.Mail(1, terms.Reject), `"received"`, `"from":"`+strings.Repeat("x", queue.MaxKeptRecord)+`","received"`, 1)
	for name, c := range map[string]struct {
		line string
		set  func(b *queue.Batch)
		want string
	}{
		"no policy wants it": {queuetest.Mail(1, terms.Reject), func(b *queue.Batch) { b.Keep = 0 }, ""},
		"the quota":          {queuetest.Mail(1, terms.Allow), func(b *queue.Batch) { b.Pending = 0 }, ""},
		"too large":          {long, func(*queue.Batch) {}, "too_large"},
		"the disk is full":   {queuetest.Mail(1, terms.Reject), func(b *queue.Batch) { b.Spare = 4095 }, "disk_low"},
	} {
		s := newShelf(t)
		b := s.keeping(c.line)
		c.set(b)
		s.commit(b)
		lines := s.lines()
		if len(s.kept()) > 0 || len(lines) != 1 || lines[0].Event != task.Refused || lines[0].Digest != "" || lines[0].NotKept != c.want {
			t.Errorf("%s: %+v", name, lines)
		}
	}
}

// TestKeptIsBounded: in number and in bytes; what is beyond has its line all the same, and
// what is forgotten makes room.
func TestKeptIsBounded(t *testing.T) {
	for name, size := range map[string][2]int{"number": {queue.MaxKept, 1}, "bytes": {2, queue.MaxKeptBytes / 2}} {
		s := newShelf(t)
		err := s.Update(func(store.View) (*store.Commit, error) {
			var c store.Commit
			for n := range size[0] {
				l := audit.Line{Time: now.Add(-48 * time.Hour), Event: task.Refused, Task: stored(n, "", 0, 0).Task.ID, Digest: task.Digest(nil), Size: int64(size[1])}
				c.Lines = append(c.Lines, l)
				c.Blobs = append(c.Blobs, store.Blob{Shelf: store.Refused, Key: l.Task, Made: now.Add(-time.Hour)})
			}
			return &c, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s.commit(s.keeping(queuetest.Mail(1, terms.Reject)))
		lines := s.lines()
		if last := lines[len(lines)-1]; last.Event != task.Refused || last.NotKept != "full" {
			t.Errorf("%s: %+v", name, last)
		}
	}
}

// TestKeptOfADay: beyond the refusals of a day that have a line nothing is kept.
func TestKeptOfADay(t *testing.T) {
	s := newShelf(t)
	for batch := range 3 {
		var lines []string
		for uid := range 400 {
			lines = append(lines, queuetest.Mail(1+batch*400+uid, terms.Reject))
		}
		s.commit(s.keeping(lines...))
	}
	if c := s.counts(); len(s.kept()) != queue.MaxRefusals || c.Kept != queue.MaxRefusals || c.Refused != 1200 {
		t.Errorf("%d kept, %+v", len(s.kept()), c)
	}
}

// TestForget: the oldest first, those of their time only, and some at a time.
func TestForget(t *testing.T) {
	s := newShelf(t)
	for day := range 3 {
		b := s.keeping(queuetest.Mail(1+day, terms.Reject))
		b.Now = func() time.Time { return now.Add(time.Duration(day) * 24 * time.Hour) }
		s.commit(b)
	}
	for _, c := range []struct {
		limit, later time.Duration
		forgotten    int
		left         int
	}{{48 * time.Hour, 47 * time.Hour, 0, 3}, {48 * time.Hour, 48 * time.Hour, 1, 2}, {0, -time.Hour, 2, 0}, {0, 0, 0, 0}} {
		n, err := queue.Forget(s, c.limit, "me", now.Add(c.later))
		if counts := s.counts(); err != nil || n != c.forgotten || len(s.kept()) != c.left || counts.Kept != c.left || (counts.KeptBytes > 0) != (c.left > 0) {
			t.Errorf("%+v: %d, %v, %+v", c, n, err, counts)
		}
	}
	if l := s.lines()[5]; l.Event != audit.Forgotten || l.By != "me" || l.Size == 0 {
		t.Errorf("%+v", l)
	}
	for batch := range 3 { // of three days, because a day has its bound
		b := s.keeping()
		b.Now = func() time.Time { return now.Add(time.Duration(batch) * 24 * time.Hour) }
		for uid := range 400 {
			if err := put(b, queuetest.Mail(1+batch*400+uid, terms.Reject)); err != nil {
				t.Fatal(err)
			}
		}
		s.commit(b)
	}
	if n, err := queue.Forget(s, 0, "", now); n != 500 || err != nil || len(s.kept()) != 700 {
		t.Error(n, err)
	}
}

// TestRefusedIsNoTask: nothing that takes an id or a record takes what is kept.
func TestRefusedIsNoTask(t *testing.T) {
	s := newShelf(t)
	s.commit(s.keeping(queuetest.Mail(1, terms.Reject)))
	one := s.kept()[0]
	s.view(func(v store.View) error {
		if _, err := queue.Find(v, one.Task.ID); !errors.Is(err, queue.ErrRefused) || !errors.Is(err, store.ErrUnknown) {
			t.Error(err)
		}
		return nil
	})
	if err := s.update(func(tx *queue.Tx) error { return queue.Requeue(tx, &one, queue.Yes(&one, "me", "terminal", now), now) }); err == nil {
		t.Error("it was requeued")
	}
	allowed := strings.Replace(string(one.Line()), `"outcome":"reject"`, `"outcome":"allow"`, 1)
	if got := s.commit(s.keeping(allowed)); !slices.Equal(got, []string{"rejected was_refused"}) {
		t.Error(got)
	}
	if len(s.everything(task.States...)) > 0 || len(s.lines()) != 1 {
		t.Errorf("there is a task, or it was refused twice: %+v", s.lines())
	}
}

// TestRefusedStaysRefused: what is kept is known in each form that leaves the queue, by every
// queue, and changes nothing there: not the log, the count of the day or a position.
func TestRefusedStaysRefused(t *testing.T) {
	s := newShelf(t)
	s.commit(s.keeping(queuetest.Mail(1, terms.Reject)))
	one := s.kept()[0]
	allow := func(line []byte) string {
		return strings.Replace(string(line), `"outcome":"reject"`, `"outcome":"allow"`, 1)
	}
	taken := newShelf(t) // has the message itself
	taken.commit(taken.batch(queuetest.Mail(1, terms.Allow)))
	for from, line := range map[string]string{"list": allow(one.Line()), "file": allow(one.File)} {
		for where, q := range map[string]struct {
			*shelf
			want string
			log  int
		}{"its own": {s, "rejected was_refused", 1}, "another": {newShelf(t), "rejected was_refused", 0}, "the message's": {taken, "scheduled allowed", 1}} {
			var receipts []string
			for range 2 { // the second time it is the receipt of the first
				b := q.keeping(line)
				err := b.Commit(func(l []byte) error {
					line = string(l)
					receipts = append(receipts, receipt(t, l))
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(receipts, []string{q.want, q.want}) || len(q.lines()) != q.log {
				t.Errorf("%s, %s queue: %q, %+v", from, where, receipts, q.lines())
			}
		}
	}
	if c := s.counts(); c.Refused != 1 || c.Kept != 1 {
		t.Errorf("%+v", c)
	}
	if got := s.commit(s.keeping(queuetest.Mail(1, terms.Allow))); !slices.Equal(got, []string{"scheduled allowed"}) {
		t.Errorf("the message itself: %q", got)
	}
}

// TestForgetsWhatTheLogKnows: a copy of a file under another id, an edited one, and one that was
// put back after it was forgotten are no records that are kept: nothing logs or counts them.
func TestForgetsWhatTheLogKnows(t *testing.T) {
	s := newShelf(t)
	s.commit(s.keeping(queuetest.Mail(1, terms.Reject), queuetest.Mail(2, terms.Reject)))
	list := s.kept()
	before := s.counts()
	again := func(id string, b []byte) {
		t.Helper()
		s.Lay(store.Refused, id, store.Item{Bytes: b})
	}
	again(strings.Repeat("0", 32), list[0].File)
	again(list[1].Task.ID, append([]byte(" "), list[1].File...))
	if n, err := queue.Forget(s, 12*time.Hour, "", now); n != 0 || err != nil || len(s.lines()) != 2 {
		t.Error(n, err, s.lines())
	}
	if n, err := queue.Forget(s, 0, "", now); n != 1 || err != nil || s.lines()[2].Task != list[0].Task.ID {
		t.Error(n, err, s.lines())
	}
	if c := s.counts(); c.Kept != 1 || c.KeptBytes != before.KeptBytes-int64(len(list[0].File)) {
		t.Errorf("%+v", c)
	}
	again(list[0].Task.ID, list[0].File)
	if n, err := queue.Forget(s, 0, "", now); n != 0 || err != nil {
		t.Error("forgotten twice", n, err)
	}
	s.commit(s.keeping(queuetest.Mail(1, terms.Allow)))
	if c := s.counts(); c.Kept != 1 || len(s.lines()) != 4 {
		t.Errorf("%+v, %+v", c, s.lines())
	}
}

// TestKeptWithinTheRoom: all that a batch keeps must fit, and each file takes whole blocks. The
// room was looked at once before a batch of 500.
func TestKeptWithinTheRoom(t *testing.T) {
	s := newShelf(t)
	var lines []string
	for uid := range 5 {
		lines = append(lines, queuetest.Mail(1+uid, terms.Reject))
	}
	b := s.keeping(append(lines, queuetest.Mail(9, terms.Allow))...)
	b.Spare = 3*4096 + 4095
	if got := s.commit(b); got[5] != "scheduled allowed" {
		t.Error(got)
	}
	if log := s.lines(); len(s.kept()) != 3 || log[2].NotKept != "" || log[3].NotKept != "disk_low" || log[4].NotKept != "disk_low" {
		t.Errorf("%+v", log)
	}
}

// TestLimitedByEffects: refused effects have a line each and count, so the first refusal that has
// none need not be the 1,001st; the log says all the same that there are such, once a day.
func TestLimitedByEffects(t *testing.T) {
	s := newShelf(t)
	limited := func() (n int) {
		for _, l := range s.lines() {
			if l.Event == audit.Limited {
				n++
			}
		}
		return n
	}
	uid := 0
	refuse := func(n int, at time.Time) {
		b := s.batch()
		b.Now = func() time.Time { return at }
		for range n {
			uid++
			if err := put(b, queuetest.Mail(uid, terms.Reject)); err != nil {
				t.Fatal(err)
			}
		}
		s.commit(b)
	}
	refuse(queue.MaxRefusals, now)
	s.commit(s.batch(queuetest.RejectedEffect(1), queuetest.RejectedEffect(2)))
	if limited() != 0 {
		t.Fatal("nothing was left out yet")
	}
	refuse(2, now)
	refuse(2, now)
	if c := s.counts(); limited() != 1 || c.Refused != queue.MaxRefusals+6 || !c.Limited {
		t.Errorf("%d lines, %+v", limited(), c)
	}
	refuse(1, now.Add(24*time.Hour))
	if c := s.counts(); limited() != 1 || c.Refused != 1 || c.Limited {
		t.Errorf("%d lines, %+v", limited(), c)
	}
}
