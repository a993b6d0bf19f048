package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// batch makes a batch of records; what Put says of them must be nil.
func (s *shelf) batch(lines ...string) *queue.Batch {
	s.t.Helper()
	b := queue.NewBatch(s.Memory, false, 1000, func() time.Time { return now })
	for _, line := range lines {
		if err := put(b, line); err != nil {
			s.t.Fatal(err)
		}
	}
	return b
}

func put(b *queue.Batch, line string) error {
	rec, err := record.Parse([]byte(line), queue.Members...)
	if err != nil {
		return err
	}
	return b.Put(rec)
}

// commit commits a batch, and returns what its receipts say: state and reason.
func (s *shelf) commit(b *queue.Batch) (receipts []string) {
	s.t.Helper()
	err := b.Commit(func(line []byte) error {
		receipts = append(receipts, receipt(s.t, line))
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return receipts
}

func receipt(t testing.TB, line []byte) string {
	var state, reason string
	rec, err := record.Parse(line, task.Member)
	if err == nil {
		err = rec.Decode(task.Member, func(v record.Value) error {
			return v.Each(func(name string, v record.Value) error {
				switch name {
				case "state":
					return v.Into(&state)
				case "reason":
					return v.Into(&reason)
				}
				return nil
			})
		})
	}
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return strings.TrimSpace(state + " " + reason)
}

// events are those of the log, in order.
func (s *shelf) events() (list []task.Event) {
	for _, l := range s.lines() {
		list = append(list, l.Event)
	}
	return list
}

// TestBatchReceipts: each record has one, in order, whether it is new, known, rejected,
// pruned or can't be read any more.
func TestBatchReceipts(t *testing.T) {
	s := newShelf(t)
	mail, review, no := queuetest.Mail(1, terms.Allow), queuetest.Mail(2, terms.Review), queuetest.Mail(3, terms.Reject)
	b := s.batch(mail, mail, review, no, no, queuetest.Effect(1))
	want := []string{"scheduled allowed", "scheduled allowed", "awaiting_review allowed", "rejected allowed", "rejected allowed", "awaiting_review allowed"}
	if got := s.commit(b); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if want := []task.Event{task.Added, task.Added, task.Refused, task.Refused, task.Added}; !slices.Equal(s.events(), want) {
		t.Errorf("%v, want %v", s.events(), want)
	}
	if got := s.commit(b); got != nil || len(s.lines()) != 5 {
		t.Errorf("a batch is empty after it was committed: %v", got)
	}
	first, second := s.lines()[0].Task, s.lines()[1].Task
	s.Lay(store.On(task.Scheduled), first, store.Item{Bytes: []byte("{")})
	shown := s.find(second)
	err := s.update(func(tx *queue.Tx) error {
		return errors.Join(queue.Deny(tx, &shown, "me", approval.Terminal, "not wanted", now), tx.Move(move(task.Pruned, second, task.Rejected, "")))
	})
	if got := s.commit(s.batch(mail, review, no)); err != nil || !slices.Equal(got, []string{"scheduled", "rejected pruned", "rejected allowed"}) {
		t.Errorf("%v, %q", err, got)
	}
	if n := len(s.events()); n != 8 { // denied, pruned, and refused again
		t.Errorf("%v", s.events())
	}
}

// TestBatchOfARefusal: it takes no name, and a better copy may follow in the same batch.
func TestBatchOfARefusal(t *testing.T) {
	s := newShelf(t)
	got := s.commit(s.batch(queuetest.Mail(1, terms.Reject), queuetest.Mail(1, terms.Allow)))
	if !slices.Equal(got, []string{"rejected allowed", "scheduled allowed"}) {
		t.Errorf("%q", got)
	}
}

// TestBatchRefuses what was not decided on, what was decided for trials, and what has no
// name.
func TestBatchRefuses(t *testing.T) {
	mail := queuetest.Mail(1, terms.Allow)
	unsafe := strings.Replace(mail, `"reason":"allowed"`, `"reason":"unsafe"`, 1)
	for line, want := range map[string]string{
		`{"message":{"source":"s","id":"<1@t>"}}`: "identity",
		unsafe: "unsafe",
		strings.Replace(mail, `"id":"<1@t>"`, `"id":""`, 1):    "neither id nor digest",
		strings.Replace(mail, `"message":`, `"massage":`, 1):   "message",
		strings.Replace(queuetest.Effect(1), `"re`, `"er`, 1):  "request",
		strings.Replace(mail, `"read_public"`, `"read_it"`, 1): "no action",
	} {
		s := newShelf(t)
		b := s.batch(mail)
		if err := put(b, line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
		if got := s.commit(b); len(got) != 1 {
			t.Errorf("%s: what came before it: %q", line, got)
		}
	}
	b := newShelf(t).batch()
	b.Unsafe = true
	if err := put(b, unsafe); err != nil {
		t.Errorf("a queue for trials: %v", err)
	}
}

// TestBatchIsFull at its bounds, by number and by size, and Take leaves it empty.
func TestBatchIsFull(t *testing.T) {
	small, large := queuetest.Mail(1, terms.Allow), strings.Replace(queuetest.Mail(1, terms.Allow), `"why":""`, `"why":"`+strings.Repeat("x", 1<<20)+`"`, 1)
	for line, want := range map[string]int{small: 125, large: 2} {
		b := newShelf(t).batch()
		n := 0
		for ; !b.Full(); n++ {
			if err := put(b, line); err != nil {
				t.Fatal(err)
			}
		}
		if taken := b.Take(); n != want || b.Full() || !taken.Full() {
			t.Errorf("%d of %d bytes, want %d", n, len(line), want)
		}
	}
}

// TestBatchFails: if the store or a receipt fails, that is said; nothing is committed in
// part.
func TestBatchFails(t *testing.T) {
	lines := []string{queuetest.Mail(1, terms.Allow), queuetest.Mail(2, terms.Reject), queuetest.SessionMail(3, "b1"), queuetest.Effect(1)}
	steps := 0
	for failed := true; failed; steps++ {
		s := newShelf(t)
		b := s.batch(lines...)
		broke := s.failAt(steps)
		n := 0
		err := b.Commit(func([]byte) error { n++; return nil })
		if failed = *broke; failed && (!errors.Is(err, errBroken) || n > 0 || len(s.lines()) > 0) {
			t.Errorf("step %d: %v, %d receipts, %+v", steps, err, n, s.lines())
		} else if !failed && (err != nil || n != len(lines)) {
			t.Errorf("%v, %d receipts", err, n)
		}
	}
	if steps < 10 {
		t.Errorf("only %d steps can fail", steps)
	}
	s := newShelf(t)
	if err := s.batch(lines...).Commit(func([]byte) error { return errBroken }); !errors.Is(err, errBroken) || len(s.lines()) != 4 {
		t.Errorf("%v, %+v", err, s.lines())
	}
}

// TestQuota: a sender of messages may have so many open tasks, of which what could not
// be checked takes half; what ended, effects, submitted asks and rejections are not
// counted.
func TestQuota(t *testing.T) {
	from := func(sender, line string) string { return strings.ReplaceAll(line, "me@example.com", sender) }
	mail := func(uid int) string { return queuetest.Mail(uid, terms.Allow) }
	doubted := func(uid int, reason string) string {
		return strings.Replace(mail(uid), `"reason":"allowed"`, `"reason":"`+reason+`"`, 1)
	}
	unchecked := func(uid int) string { return doubted(uid, "unchecked") }
	submitted := strings.Replace(mail(0)[strings.Index(mail(0), `"identity"`):], `"why":""},`, `"why":"","via":"submit"},`, 1)
	submitted = `{"request":{"action":"read_public","args":{"text":"x"}},` + submitted
	for name, c := range map[string]struct {
		pending int
		before  []string
		lines   []string
		want    string // a letter each: s, a, r, and q for the quota
	}{
		"room":                       {3, nil, []string{mail(1), mail(2), mail(3)}, "sss"},
		"no room":                    {3, nil, []string{mail(1), mail(2), mail(3), mail(4)}, "sssq"},
		"taken by what is there":     {3, []string{mail(1), mail(2)}, []string{mail(3), mail(4)}, "sq"},
		"known is not counted":       {3, []string{mail(1), mail(2)}, []string{mail(1), mail(2), mail(3)}, "sss"},
		"of another":                 {1, nil, []string{mail(1), from("you@example.com", mail(2))}, "ss"},
		"in another case":            {1, nil, []string{mail(1), from("ME@Example.com", mail(2))}, "sq"},
		"what waits counts":          {1, []string{queuetest.Mail(1, terms.Review)}, []string{mail(2)}, "q"},
		"rejected does not":          {1, nil, []string{queuetest.Mail(1, terms.Reject), mail(2)}, "rs"},
		"rejected, and no room":      {1, []string{mail(1)}, []string{queuetest.Mail(2, terms.Reject)}, "r"},
		"effects do not":             {1, []string{queuetest.Effect(1)}, []string{queuetest.Effect(2), mail(2)}, "as"},
		"submitted asks do not":      {1, []string{submitted}, []string{submitted, mail(2), submitted}, "sss"},
		"not checked takes half":     {4, nil, []string{unchecked(1), unchecked(2), unchecked(3), mail(4), mail(5), mail(6)}, "ssqssq"},
		"anybody can vary a field":   {4, nil, []string{doubted(1, "field_unsigned"), doubted(2, "text_unproven"), doubted(3, "field_unsigned"), doubted(4, "text_unproven"), mail(5), mail(6)}, "ssqqss"},
		"not checked, one at least":  {1, nil, []string{unchecked(1), unchecked(2)}, "sq"},
		"not checked after the rest": {4, []string{mail(1), mail(2)}, []string{unchecked(3)}, "q"},
	} {
		s := newShelf(t)
		if len(c.before) > 0 {
			s.commit(s.batch(c.before...))
		}
		b := s.batch(c.lines...)
		b.Pending = c.pending
		got := ""
		for _, r := range s.commit(b) {
			if strings.HasSuffix(r, queue.Quota) {
				r = "q"
			}
			got += r[:1]
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	s := newShelf(t, stored(1, task.Completed, 0, 0))
	s.commit(s.batch(mail(1)))
	for _, op := range []queuetest.Operation{queuetest.Start(""), queuetest.Finish(queue.End{})} {
		if err := op.Do(s, now); err != nil {
			t.Fatal(err)
		}
	}
	b := s.batch(mail(2))
	if b.Pending = 1; s.commit(b)[0] != "scheduled allowed" {
		t.Error("what is done counts")
	}
}

// TestBatchNotBefore: what is put off waits, and its line says so.
func TestBatchNotBefore(t *testing.T) {
	s := newShelf(t)
	b := s.batch(queuetest.Mail(1, terms.Allow))
	b.NotBefore, b.Sandbox = now.Add(time.Hour), "none"
	s.commit(b)
	if l := s.lines()[0]; !l.Change.NotBefore.Equal(now.Add(time.Hour)) || l.Sandbox != "none" || !s.find(l.Task).Task.NotBefore.Equal(now.Add(time.Hour)) {
		t.Errorf("%+v", l)
	}
	s.view(func(v store.View) error {
		return v.Open(task.Scheduled, func(e store.Entry) (bool, error) {
			if !e.PutOff || !e.Message || e.Sender != store.KeyOf("ME@example.com") {
				t.Errorf("%+v", e)
			}
			return true, nil
		})
	})
}

// TestBatchPositions: the last of each source that a batch has.
func TestBatchPositions(t *testing.T) {
	s := newShelf(t)
	at := func(source string, validity, uid int) string {
		line := strings.Replace(queuetest.Mail(uid, terms.Allow), queuetest.Source, source, 1)
		return strings.Replace(line, `"uidvalidity":7`, fmt.Sprintf(`"uidvalidity":%d`, validity), 1)
	}
	s.commit(s.batch(at("b", 7, 3), at("a", 7, 4), at("a", 7, 5), at("b", 7, 9), queuetest.Effect(1), at("c", 9, 9), at("c", 10, 1)))
	var got []string
	for _, p := range s.lines()[len(s.lines())-1].Positions {
		got = append(got, fmt.Sprintf("%s %d/%d", p.Source, p.UIDValidity, p.UID))
	}
	if want := []string{"b 7/9", "a 7/5", "c 10/1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSettle: a proposal that is known is taken out of the outbox of the one that made
// it, once, and out of no other.
func TestSettle(t *testing.T) {
	s := newShelf(t)
	effect := queuetest.Effect(1)
	parent := "0123456789abcdef0123456789abcdef"
	s.commit(s.batch(effect))
	id := s.lines()[0].Task
	lay := func(parent, id string) {
		s.Lay(store.Outbox, parent, store.Item{Bytes: []byte(`{"task":{"id":"` + id + `"}}` + "\n")})
	}
	lay(parent, id)
	if s.commit(s.batch(effect, effect)); len(s.lines()) != 2 || s.lines()[1].Event != audit.Settled || s.lines()[1].Parent != parent {
		t.Errorf("%+v", s.lines())
	}
	s.view(func(v store.View) error {
		file, err := queue.OutboxOf(v, parent)
		if file != nil {
			t.Errorf("%s", file)
		}
		return err
	})
	for _, lies := range []string{"", "{", `{"task":{"id":"` + two + `"}}` + "\n"} {
		s.Lay(store.Outbox, parent, store.Item{Bytes: []byte(lies)})
		if s.commit(s.batch(effect)); len(s.lines()) != 2 {
			t.Errorf("%q: %+v", lies, s.lines()[2:])
		}
	}
}

// TestBatchOfEffects: what reaches the outside waits for a person, whatever was decided;
// and the receipt of a proposal has a line, however many rejections the day had.
func TestBatchOfEffects(t *testing.T) {
	s := newShelf(t)
	err := s.update(func(tx *queue.Tx) (err error) {
		for range queue.MaxRefusals + 1 {
			err = errors.Join(err, refuse(tx, audit.Line{Time: now, Event: task.Refused, Task: two}))
		}
		return err
	})
	before := len(s.lines())
	allowed := strings.Replace(queuetest.Effect(1), string(terms.Confirm), string(terms.Allow), 1)
	rejected := strings.Replace(queuetest.Effect(2), string(terms.Confirm), string(terms.Reject), 1)
	got := s.commit(s.batch(allowed, rejected, queuetest.Mail(1, terms.Reject)))
	if err != nil || !slices.Equal(got, []string{"awaiting_review allowed", "rejected allowed", "rejected allowed"}) {
		t.Errorf("%v, %q", err, got)
	}
	if lines := s.lines()[before:]; len(lines) != 2 || lines[1].Event != task.Refused || lines[1].Parent == "" {
		t.Errorf("%+v", lines)
	}
}
