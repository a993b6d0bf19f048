package monthkit

import (
	"fmt"
	"strings"
	"time"
)

const owner = "me@example.com"

// externals may ask for a little; the first one's server sends a burst.
var externals = []string{"orders@supplier.example", "bob@colleague.example", "carl@partner.example", "dora@customer.example"}

// proof is what the receiver says of a mail.
type proof string

const (
	genuine   proof = "genuine"
	forged    proof = "forged"    // DMARC failed
	claimed   proof = "claimed"   // the receiver's word is the sender's own
	unlisted  proof = "unlisted"  // proven, and on no list
	automatic proof = "automatic" // of a program
)

// mail is a mail as it came, and what must become of it.
type mail struct {
	id, from, subject string
	proof             proof
	text              string
	came              time.Time // the true time; of the first copy

	added, refused int
	task           string
	quota          bool // it may be refused as sender_quota
	lost           bool // its task was in what a restore took back
}

// wanted reports whether it has to become a task.
func (m *mail) wanted() bool { return m.proof == genuine }

// write makes the mail's text.
func (m *mail) write() {
	_, domain, _ := strings.Cut(m.from, "@")
	verdict := "dkim=pass header.d=" + domain + " header.s=s1 header.b=Zm9vYmFy; dmarc=pass header.from=" + domain
	receiver, extra := "mx.example.com", ""
	switch m.proof {
	case forged:
		verdict = "dkim=none; dmarc=fail header.from=" + domain
	case claimed:
		receiver = "mx.attacker.example"
	case automatic:
		extra = "Auto-Submitted: auto-replied\n"
	}
	m.text = "Authentication-Results: " + receiver + "; " + verdict + "\n" +
		"DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=" + domain + "; s=s1;\n" +
		"\th=from:to:cc:subject:date:message-id; bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=Zm9vYmFyEfGh\n" +
		"From: " + m.from + "\nTo: agent@example.com\nSubject: " + m.subject + "\n" + extra +
		"Date: " + m.came.Format(time.RFC1123Z) + "\nMessage-ID: " + m.id + "\n\nWhat is new?\n"
}

// deliver puts a new mail into the mailbox.
func (w *world) deliver(from, subject string, p proof) *mail {
	w.sent++
	id := fmt.Sprintf("<%d.%s@%s>", w.sent, p, strings.SplitN(from, "@", 2)[1])
	m := &mail{id: id, from: from, subject: subject, proof: p, came: w.now}
	m.write()
	w.model.mails[m.id], w.model.order = m, append(w.model.order, m)
	w.arrive(m.text, w.now)
	return m
}

// again delivers a mail once more, if it is a task: the same, or as after an outage of the
// receiver's check.
func (w *world) again(m *mail, how proof) {
	if m.added == 0 {
		return
	}
	text := m.text
	if how != genuine {
		text = strings.Replace(text, "dkim=pass", "dkim=temperror", 1)
		text = strings.Replace(text, "dmarc=pass", "dmarc=temperror", 1)
	}
	w.arrive(text, w.now)
}

// arrive puts a mail into the mailbox.
func (w *world) arrive(text string, at time.Time) {
	w.arrived++
	w.inbox.Append(w.t, "INBOX", text, at)
}

// renewed is a mailbox with another UIDVALIDITY, and the mail of the last days.
func (w *world) renewed() {
	w.inbox.Renew(w.t, "INBOX")
	for _, m := range w.model.order {
		if w.now.Sub(m.came) < 10*24*time.Hour {
			w.arrive(m.text, m.came)
		}
	}
}
