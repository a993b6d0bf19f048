package queuetest

import (
	"fmt"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Propose ends a worker well. It proposes to send something, to read, to write a note on
// its own task, and to close that task, which is not legal.
func Propose(n int) Operation {
	return onFirst("propose", task.Running, func(tx *queue.Tx, s *queue.Stored, now time.Time) error {
		send := `{"action":"external_send","target":"bob%d@partner.example","args":{"text":"hi"}}`
		out := fmt.Sprintf(send+"\n", n) +
			`{"action":"read_public","args":{"q":"news"}}` + "\n" +
			`{"action":"read_public","args":{"q":"news"}}` + "\n" +
			`{"action":"write_local","tool":"task.note","args":{"task":"` + s.Task.ID + `","text":"seen"}}` + "\n" +
			`{"action":"write_local","tool":"task.close","args":{"task":"` + s.Task.ID + `"}}` + "\n" +
			"no proposal\n"
		list, discarded := proposal.Read([]byte(out), false, nil)
		end := queue.End{Result: []byte(out), Proposals: &queue.Proposals{List: list, Discarded: discarded}}
		_, err := queue.Finish(tx, &queue.Claim{Stored: *s}, end, &Policy.Limits, now)
		return err
	})
}

// Pause ends a worker well, whose client keeps its session. It proposes to send something, which
// the ask waits for, and to read, which is refused.
func Pause(n int) Operation {
	return onFirst("pause", task.Running, func(tx *queue.Tx, s *queue.Stored, now time.Time) error {
		out := fmt.Sprintf(`{"action":"external_send","target":"ann%d@partner.example","args":{"text":"hi"}}`+"\n"+`{"action":"read_public","args":{"q":"x"}}`+"\n", n)
		list, discarded := proposal.Read([]byte(out), false, nil)
		end := queue.End{Kept: true, Proposals: &queue.Proposals{List: list, Discarded: discarded}}
		_, err := queue.Finish(tx, &queue.Claim{Stored: *s}, end, &Policy.Limits, now)
		return err
	})
}

// onPaused is an operation on the effect that a paused ask waits for.
func onPaused(name string, fn func(tx *queue.Tx, s *queue.Stored, now time.Time) error) Operation {
	return Update(name, func(tx *queue.Tx, now time.Time) error {
		return tx.Each(store.On(task.Awaiting), func(id string, _ time.Time) (bool, error) {
			s, err := queue.Load(tx, task.Awaiting, id)
			if err != nil || len(s.Target()) == 0 || !strings.HasPrefix(s.Target()[0], "ann") {
				return err == nil, err
			}
			return false, fn(tx, &s, now)
		})
	})
}

// Operations on the effect that a paused ask waits for.
var (
	DenyPaused = onPaused("deny what is waited for", func(tx *queue.Tx, s *queue.Stored, now time.Time) error {
		return queue.Deny(tx, s, "me", approval.Terminal, "not wanted", now)
	})
	Revise = onPaused("revise", func(tx *queue.Tx, s *queue.Stored, now time.Time) error {
		return queue.Revise(tx, s, "me", approval.Terminal, "shorter", &Policy.Limits, now)
	})
)

// ApproveEffect says yes to the oldest effect that would be sent.
var ApproveEffect = Update("approve an effect", func(tx *queue.Tx, now time.Time) error {
	s, found, err := firstSent(tx, task.Awaiting)
	if !found || err != nil {
		return err
	}
	return queue.Approve(tx, &s, lasting(&s, now), now)
})

// CorrectEffect puts another one in the place of the oldest effect that would be sent.
var CorrectEffect = Update("correct an effect", func(tx *queue.Tx, now time.Time) error {
	s, found, err := firstSent(tx, task.Awaiting)
	if !found || err != nil || s.Correctable() != nil {
		return err
	}
	form := strings.Replace(string(proposal.Form(s.Request)), "args.n: ", "args.n: 9", 1)
	if strings.Contains(form, "\n\n") {
		form += "in place of " + s.Task.ID + "\n"
	}
	p, err := proposal.Correct(s.Request, []byte(form))
	if err != nil {
		return err
	}
	as, err := (&queue.Run{Policy: Policy}).Correction(&s, &p, now)
	if err != nil {
		return err
	}
	return queue.Correct(tx, &s, as, "me", approval.Terminal, now)
})

// Answer adds a mail by the target of the oldest effect that was sent, which answers it.
var Answer = Operation{"answer", func(s store.Store, now time.Time) error {
	var sent queue.Stored
	found := false
	err := s.View(func(v store.View) (err error) {
		sent, found, err = firstSent(v, task.Completed)
		return err
	})
	if !found || err != nil {
		return err
	}
	thread := fmt.Sprintf(`"thread":{"in_reply_to":["<%s@pulse.invalid>"]},"received"`, sent.Task.ID)
	from := strings.NewReplacer(`"received"`, thread, "me@example.com", sent.Target()[0])
	return Add(from.Replace(Mail(80, terms.Allow))).Do(s, now)
}}

// firstSent loads the oldest task of a state that sends something.
func firstSent(v store.View, st task.State) (s queue.Stored, found bool, err error) {
	err = v.Each(store.On(st), func(id string, _ time.Time) (bool, error) {
		s, err = queue.Load(v, st, id)
		found = err == nil && s.Outward()
		return !found, err
	})
	return s, found, err
}

// Proposed calls fn for the lines of all outboxes.
func Proposed(s store.Store, fn func(line string)) error {
	var all strings.Builder
	err := s.View(func(v store.View) error {
		all.Reset()
		parents, err := queue.Proposers(v)
		for _, parent := range parents {
			var file []byte
			if err == nil {
				file, err = queue.OutboxOf(v, parent)
			}
			all.Write(file)
		}
		return err
	})
	for line := range strings.Lines(all.String()) {
		fn(line)
	}
	return err
}

// Take decides on all proposals and adds them. Reads are rejected, so that there is a
// receipt of every kind.
var Take = Operation{"take", func(s store.Store, now time.Time) error {
	var lines []string
	err := Proposed(s, func(line string) { lines = append(lines, Decided(line)) })
	if err != nil || len(lines) == 0 {
		return err
	}
	return Add(lines...).Do(s, now)
}}

// Decided returns a line of an outbox with a decision.
func Decided(line string) string {
	action, outcome := terms.WriteLocal, terms.Allow
	if strings.Contains(line, `"action":"external_send"`) {
		action, outcome = terms.ExternalSend, terms.Confirm
	} else if strings.Contains(line, `"action":"read_public"`) {
		action, outcome = terms.ReadPublic, terms.Reject
	}
	decision := `,"decision":{"action":%q,"outcome":%q,"rule":"r","reason":"allowed","why":""}}`
	return strings.TrimSuffix(line, "}\n") + fmt.Sprintf(decision, action, outcome)
}
