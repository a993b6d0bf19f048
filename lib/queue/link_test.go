package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// answer is a mail that says it answers these Message-IDs, the first in In-Reply-To.
func answer(n int, sender string, verified bool, inReplyTo string, references ...string) string {
	quoted := fmt.Sprintf("%q", references)
	return fmt.Sprintf(`{"message":{"source":"imaps://t/INBOX","id":"<%d@t>","received":"2026-11-21T06:00:00Z",`+
		`"headers":[["Cc","carol@partner.example"]],"thread":{"in_reply_to":[%q],"references":%s}},`+
		`"identity":{"sender":%q,"trust":"external_verified","verified":%v,"stale":false,"automatic":false,"reason":"r","why":""},`+
		`"decision":{"action":"read_public","outcome":"allow","rule":"r","reason":"allowed","why":""}}`,
		n, inReplyTo, strings.ReplaceAll(quoted, " ", ","), sender, verified)
}

// sent is the Message-ID of the mail that the effect of the nth id became.
func sent(n int) string { return fmt.Sprintf("<%032x@pulse.invalid>", n) }

// TestAnswersAreLinked: a mail is linked to the effect that it answers if whoever that was
// sent to wrote it, and is proven; and to no other.
func TestAnswersAreLinked(t *testing.T) {
	const bob, eve = "bob@partner.example", "eve@evil.example"
	mail := func(n int, st task.State, reason string, attempts int) *queue.Stored {
		s := outward(stored(n, st, time.Hour, time.Minute))
		s.Task.Reason, s.Task.Attempts = reason, attempts
		return s
	}
	toCarol := mail(2, task.Completed, "done", 1)
	effect(toCarol, fmt.Sprintf("%032x", 0xa5c), `{"action":"external_send","tool":"mail.send","target":["carol@partner.example"]}`)
	chat := mail(3, task.Completed, "done", 1)
	effect(chat, fmt.Sprintf("%032x", 0xa5c), `{"action":"external_send","tool":"chat.send","target":["bob@partner.example"]}`)
	draft := effect(stored(4, task.Completed, time.Hour, time.Minute), fmt.Sprintf("%032x", 0xa5c),
		`{"action":"write_local","tool":"draft","target":["bob@partner.example"]}`)
	later := mail(14, task.Completed, "done", 1) // its root answered a mail itself
	later.Identity.Root = fmt.Sprintf("%032x", 0xa5d)
	later.Identity.Parent = later.Identity.Root
	orphan := mail(15, task.Completed, "done", 1)
	orphan.Identity.Root, orphan.Identity.Parent = fmt.Sprintf("%032x", 0xdead), fmt.Sprintf("%032x", 0xdead)
	answered := stored(0xa5d, task.Completed, time.Hour, time.Minute)
	answered.Task.Link = task.Link{Answers: fmt.Sprintf("%032x", 1), Thread: fmt.Sprintf("%032x", 0xa5c)}
	s := newShelf(t, stored(0xa5c, task.Completed, 2*time.Hour, time.Hour), answered, toCarol, chat, draft, later, orphan,
		mail(1, task.Completed, "done", 1),
		mail(5, task.Awaiting, "needs_confirmation", 0), mail(6, task.Scheduled, "approved", 0),
		mail(7, task.Rejected, "not wanted", 0), mail(8, task.Scheduled, "worker_asked_for_later", 1),
		mail(9, task.Running, "", 0), mail(10, task.Awaiting, queue.ReasonUnknownEffect, 1),
		mail(11, task.Rejected, "it was sent", 1), mail(12, task.Awaiting, "policy", 1), mail(13, task.Completed, "done", 1),
		mail(16, task.Failed, queue.ReasonNotDone, 1), mail(17, task.Failed, queue.ReasonNotDone, 2))
	pruned := []store.ID{store.IDOf(fmt.Sprintf("%032x", 13))}
	if n, _, err := s.prune(task.Completed, pruned, 0); n != 1 || err != nil {
		t.Fatal(n, err)
	}

	const root, another = 0xa5c, 0xdead
	for i, c := range []struct {
		name, record    string
		answers, thread int // 0: it is not linked
	}{
		{"by its target", answer(1, bob, true, sent(1)), 1, root},
		{"in other letters", answer(1, "Bob@PARTNER.example", true, sent(1)), 1, root},
		{"by References alone", answer(1, bob, true, "<x@y>", "<a@b>", sent(1), "<c@d>"), 1, root},
		{"by the last of References that is known", answer(1, bob, true, "<x@y>", sent(2), sent(1), sent(99)), 1, root},
		{"In-Reply-To comes first", answer(1, bob, true, sent(1), sent(2)), 1, root},
		{"in a conversation that goes on", answer(1, bob, true, sent(14)), 14, root},
		{"the root is not there", answer(1, bob, true, sent(15)), 15, another},
		{"while it is sent", answer(1, bob, true, sent(9)), 9, root},
		{"nobody knows whether it was sent", answer(1, bob, true, sent(10)), 10, root},
		{"a person said that it was sent", answer(1, bob, true, sent(11)), 11, root},
		{"not proven: a forged In-Reply-To", answer(1, bob, false, sent(1)), 0, 0},
		{"somebody else", answer(1, eve, true, sent(1)), 0, 0},
		{"by one who got a copy of an answer", answer(1, "carol@partner.example", true, "<x@y>", sent(1), "<bob@x>"), 0, 0},
		{"the id of a mail to somebody else", answer(1, bob, true, sent(2)), 0, 0},
		{"the last one known is to somebody else", answer(1, bob, true, "<x@y>", sent(1), sent(2)), 0, 0},
		{"the id of an ask", answer(1, bob, true, sent(0xa5c)), 0, 0},
		{"the id of a chat message", answer(1, bob, true, sent(3)), 0, 0},
		{"the id of a draft", answer(1, bob, true, sent(4)), 0, 0},
		{"never sent: it waits", answer(1, bob, true, sent(5)), 0, 0},
		{"never sent: it was approved", answer(1, bob, true, sent(6)), 0, 0},
		{"never sent: a person said no", answer(1, bob, true, sent(7)), 0, 0},
		{"never sent: its sender said later", answer(1, bob, true, sent(8)), 0, 0},
		{"never sent: its sender said later, and it waits again", answer(1, bob, true, sent(12)), 0, 0},
		{"never sent: its sender refused it", answer(1, bob, true, sent(16)), 0, 0},
		{"its sender refused it the second time", answer(1, bob, true, sent(17)), 17, root},
		{"it was pruned", answer(1, bob, true, sent(13)), 0, 0},
		{"nobody knows it", answer(1, bob, true, sent(98)), 0, 0},
		{"another domain", answer(1, bob, true, strings.Replace(sent(1), "pulse.invalid", "mail.example", 1)), 1, root},
		{"no domain", answer(1, bob, true, strings.Replace(sent(1), "pulse.invalid", "[192.0.2.1]", 1)), 0, 0},
		{"no brackets", answer(1, bob, true, strings.Trim(sent(1), "<>")), 0, 0},
		{"in other letters than we wrote", answer(1, bob, true, strings.ToUpper(sent(0xabc))), 0, 0},
	} {
		record := strings.Replace(c.record, "<1@t>", fmt.Sprintf("<%d@t>", i), 1)
		want := task.Link{}
		if c.answers != 0 {
			want = task.Link{Answers: fmt.Sprintf("%032x", c.answers), Thread: fmt.Sprintf("%032x", c.thread)}
		}
		s.commit(s.batch(record))
		lines := s.lines()
		line := lines[len(lines)-1]
		if line.Event != task.Added || line.Link != want {
			t.Errorf("%s: the log says %s %+v, want %+v", c.name, line.Event, line.Link, want)
		}
		if got := s.find(line.Task); got.Task.Link != want {
			t.Errorf("%s: the task says %+v, want %+v", c.name, got.Task.Link, want)
		}
		refused := strings.NewReplacer(`"allow"`, `"reject"`, fmt.Sprintf("<%d@t>", i), fmt.Sprintf("<%d@r>", i)).Replace(record)
		s.commit(s.batch(refused))
		lines = s.lines()
		if line := lines[len(lines)-1]; line.Event != task.Refused || line.Link != want {
			t.Errorf("%s, refused: the log says %s %+v, want %+v", c.name, line.Event, line.Link, want)
		}
	}
	s.commit(s.batch(answer(1, bob, true, sent(1)))) // known: the receipt says it too
	if got := linkOf(t, s, answer(1, bob, true, sent(1))); got.Answers != fmt.Sprintf("%032x", 1) {
		t.Errorf("%+v", got)
	}
}

// linkOf returns the link in the receipt of a record.
func linkOf(t *testing.T, s *shelf, line string) (l task.Link) {
	t.Helper()
	err := s.batch(line).Commit(func(receipt []byte) error {
		rec, err := record.Parse(receipt, task.Member)
		if err != nil {
			return err
		}
		return rec.Decode(task.Member, func(v record.Value) error {
			one, err := task.DecodeFixed(v)
			l = one.Link
			return err
		})
	})
	if err != nil {
		t.Error(err)
	}
	return l
}
