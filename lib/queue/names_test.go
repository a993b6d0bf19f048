package queue_test

import (
	"encoding/json"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// mailed is a mail in the ways in which it can come.
type mailed struct {
	id, date, subject, body, to, content string // members of the message; content: its Content-Type
	text                                 string
	sender, signed                       string
	unsigned                             []string
	proven                               bool
	outcome                              string
}

var genuine = mailed{
	id: "<1@example.com>", date: "Sat, 21 Nov 2026 06:58:00 +0000", subject: "one two", body: "sha256:aa", to: "agent@example.net",
	content: "text/plain", sender: "me@example.com", proven: true, outcome: "allow",
}

// but returns the mail with something changed.
func (m mailed) but(fn func(*mailed)) mailed {
	fn(&m)
	return m
}

// unchecked returns the mail as it is added while DNS gives no answer.
func (m mailed) unchecked() mailed {
	m.proven, m.signed, m.unsigned, m.outcome = false, "", nil, "queue_for_review"
	return m
}

func (m mailed) record(t *testing.T) string {
	t.Helper()
	headers := [][2]string{
		{"Received", "by " + m.signed}, {"From", "Me <" + m.sender + ">"}, {"To", m.to}, {"Subject", m.subject},
		{"Date", m.date}, {"Message-ID", m.id}, {"Content-Type", m.content},
	}
	message := map[string]any{"source": "imaps://me@imap.example.net/INBOX", "id": m.id, "digest": "sha256:d" + m.signed, "headers": headers}
	if m.text != "" {
		message["text"] = m.text
	}
	if m.body != "" {
		message["body"] = m.body
	}
	identity := map[string]any{"sender": m.sender, "trust": "owner_verified_email", "verified": m.proven, "reason": "authenticated_owner", "why": ""}
	if m.signed != "" {
		identity["signed"] = m.signed
	}
	if m.unsigned != nil {
		identity["unsigned"] = m.unsigned
	}
	if !m.proven {
		identity["trust"], identity["reason"] = "owner_claim_unverified", "signature_temperror"
	}
	decision := map[string]any{"action": "read_public", "outcome": m.outcome, "rule": "r", "reason": "unchecked", "why": ""}
	b, err := json.Marshal(map[string]any{"message": message, "identity": identity, "decision": decision})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestNamesOfMail is the table of the package comment, each cell both ways: what comes second
// is the first one's task, or another one.
func TestNamesOfMail(t *testing.T) {
	rejected := func(m *mailed) { m.outcome = "reject" }
	otherID := func(m *mailed) { m.id, m.unsigned = "<2@example.com>", []string{"Message-ID"} }
	stripped := func(m *mailed) { // one of two signatures was taken off, and the other does not cover Message-ID
		m.signed, m.unsigned = "sha256:s2", []string{"Message-ID"}
	}
	strippedAnew := func(m *mailed) { stripped(m); m.id, m.to = "<2@example.com>", "mallory@example.net" }
	ownCheck := func(m *mailed) { m.signed = "sha256:s1" } // evidence dkim
	body := func(m *mailed) { m.body = "sha256:bb" }
	cut := func(m *mailed) { m.body = "" } // it is larger than what is read of a mail
	loose := func(m *mailed) {             // a receiver's verdict on a signature that covers neither Subject nor Message-ID
		m.signed, m.unsigned = "sha256:s3", []string{"Subject", "Message-ID"}
	}
	for _, c := range []struct {
		name          string
		first, second mailed
		same          bool
	}{
		{"again", genuine, genuine, true},
		{"evidence changed to dkim", genuine, genuine.but(ownCheck), true},
		{"evidence changed to authres", genuine.but(ownCheck), genuine, true},
		{"without one signature", genuine.but(ownCheck), genuine.but(stripped), true},
		{"without one signature, first", genuine.but(stripped), genuine.but(ownCheck), true},
		{"without one signature, and with another Message-ID", genuine, genuine.but(strippedAnew), true},
		{"without one signature, and with another Message-ID, first", genuine.but(strippedAnew), genuine, true},
		{"another body under one Message-ID", genuine, genuine.but(body), true},
		{"respaced", genuine, genuine.but(func(m *mailed) { stripped(m); m.id, m.subject = "<2@x>", "one\r\n  two" }), true},
		{"another mail", genuine, genuine.but(func(m *mailed) { m.id, m.body = "<2@example.com>", "sha256:bb" }), false},
		{"of another second", genuine, genuine.but(func(m *mailed) { m.id, m.date = "<2@example.com>", "Sat, 21 Nov 2026 06:58:01 +0000" }), false},
		{"with another Subject", genuine, genuine.but(func(m *mailed) { m.id, m.subject = "<2@example.com>", "two" }), false},
		{"of another sender", genuine, genuine.but(func(m *mailed) { m.sender = "you@example.com" }), false},
		{"without a digest of the body", genuine.but(func(m *mailed) { m.body = "" }), genuine.but(strippedAnew), false},
		{"without a digest of the body, with its Message-ID", genuine.but(func(m *mailed) { m.body = "" }), genuine.but(ownCheck), true},

		// What is not signed takes no name.
		{"a Message-ID put on another mail", genuine.but(func(m *mailed) { stripped(m); m.body = "sha256:bb" }), genuine, false},
		{"a Message-ID and a Subject put on another mail", genuine.but(loose), genuine, false},
		{"sent on with them again", genuine.but(loose), genuine.but(loose), true},

		// Two that the sender made in one second, as a script does, are two.
		{"the same to another address, under another Message-ID", genuine, genuine.but(func(m *mailed) { m.id, m.to = "<2@example.com>", "agent+write@example.net" }), false},
		{"the same again, under another Message-ID", genuine.but(ownCheck), genuine.but(ownCheck).but(func(m *mailed) { m.id, m.signed = "<2@example.com>", "sha256:s2" }), false},

		// After an outage, and before one.
		{"unchecked, then proven", genuine.unchecked(), genuine, true},
		{"unchecked, then proven by pulse itself", genuine.unchecked(), genuine.but(ownCheck), true},
		{"unchecked, then without one signature", genuine.unchecked(), genuine.but(stripped), true},
		{"unchecked twice", genuine.unchecked(), genuine.unchecked(), true},
		{"proven, then unchecked", genuine, genuine.unchecked(), true},
		{"proven, then unchecked with another Message-ID", genuine, genuine.but(otherID).unchecked(), true},
		{"proven, then unchecked with another body", genuine, genuine.but(body).unchecked(), true},
		{"proven, then forged", genuine, genuine.but(rejected).but(func(m *mailed) { m.proven = false }), false},

		// A forger knows the Message-ID, Date, Subject and even the body ahead.
		{"forged with another body, then proven", genuine.but(body).unchecked(), genuine, false},
		{"forged with another body, then unchecked", genuine.but(body).unchecked(), genuine.unchecked(), false},
		{"forged with another To, then proven", genuine.but(func(m *mailed) { m.to = "x@example.net" }).unchecked(), genuine, false},
		{"forged to be read otherwise, then proven", genuine.but(func(m *mailed) { m.content = "text/html" }).unchecked(), genuine, false},
		{"forged without a digest of the body, then proven", genuine.but(func(m *mailed) { m.body = "" }).unchecked(), genuine, false},
		{"forged without a digest of the body, then unchecked", genuine.but(cut).but(func(m *mailed) { m.text = "pay Mallory" }).unchecked(), genuine.but(cut).unchecked(), false},
		{"forged to be read otherwise, without a digest of the body, then unchecked", genuine.but(cut).but(func(m *mailed) { m.content = "text/html" }).unchecked(), genuine.but(cut).unchecked(), false},
		{"without a digest of the body, unchecked twice", genuine.but(cut).unchecked(), genuine.but(cut).unchecked(), true},
		{"forged and rejected, then proven", genuine.but(func(m *mailed) { m.proven = false }).but(rejected), genuine, false},
	} {
		store := queuetest.NewMemory()
		first := addedTo(t, store, c.first.record(t))
		if second := addedTo(t, store, c.second.record(t)); (second == first) != c.same {
			t.Errorf("%s: the same task is %v", c.name, !c.same)
		}
		both := queuetest.NewMemory()
		if ids := addedBoth(t, both, c.first.record(t), c.second.record(t)); (ids[0] == ids[1]) != c.same {
			t.Errorf("%s, in one batch: the same task is %v", c.name, !c.same)
		}
	}
}

// addedBoth adds lines in one batch and returns the ids in their receipts.
func addedBoth(t *testing.T, s store.Store, lines ...string) (ids []string) {
	t.Helper()
	b := queue.NewBatch(s, false, 9, time.Now)
	for _, line := range lines {
		if err := put(b, line); err != nil {
			t.Fatal(err)
		}
	}
	err := b.Commit(func(receipt []byte) error {
		rec, err := record.Parse(append([]byte(nil), receipt...), queue.Members...)
		if err != nil {
			return err
		}
		id, err := task.Named(rec)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestNamesLast: a no to a mail counts under all of its names, also once it was pruned.
func TestNamesLast(t *testing.T) {
	resent := genuine.but(func(m *mailed) { m.id, m.signed, m.unsigned = "<2@x>", "sha256:s", []string{"Message-ID"} })
	for name, c := range map[string]struct{ first, second mailed }{
		"of a mail that is sent on": {genuine.but(func(m *mailed) { m.outcome = "queue_for_review" }), resent},
		"given in an outage":        {genuine.unchecked(), genuine},
	} {
		memory := queuetest.NewMemory()
		id := addedTo(t, memory, c.first.record(t))
		for i, op := range []queuetest.Operation{queuetest.Deny, queuetest.Prune} {
			if err := op.Do(memory, now); err != nil {
				t.Fatal(err)
			}
			if got := addedTo(t, memory, c.second.record(t)); got != id {
				t.Errorf("a no %s: after %d steps it is another task", name, i+1)
			}
		}
		if err := memory.View(func(v store.View) error {
			if last, err := queue.PrunedOf(v, id); last != task.Rejected {
				t.Errorf("%s: %s, %v", name, last, err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNamesOfTwins: of two mails that are alike but for their signed Message-ID, each comes
// again as itself, and a third one is its own task.
func TestNamesOfTwins(t *testing.T) {
	twin := func(id string) mailed {
		return genuine.but(func(m *mailed) { m.id, m.to = id, "agent+"+id[1:2]+"@example.net" })
	}
	store := queuetest.NewMemory()
	ids := map[string]string{}
	for _, id := range []string{"<1@example.com>", "<2@example.com>", "<3@example.com>"} {
		ids[addedTo(t, store, twin(id).record(t))] = id
	}
	if len(ids) != 3 {
		t.Errorf("three mails became %d tasks", len(ids))
	}
	for _, id := range []string{"<3@example.com>", "<1@example.com>", "<2@example.com>"} {
		if got := ids[addedTo(t, store, twin(id).record(t))]; got != id {
			t.Errorf("%s, again, is %q", id, got)
		}
	}
	if got := ids[addedTo(t, store, twin("<4@example.com>").but(func(m *mailed) { m.unsigned, m.signed = []string{"Message-ID"}, "sha256:s4" }).record(t))]; got == "" {
		t.Error("a copy whose Message-ID is not signed is one more task")
	}
}
