package suggest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pulse/lib/classify/receivers"
	"pulse/lib/classify/receivers/receiverstest"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// written returns n mails from n domains with the fields that a receiver writes, and
// under them what the sender may have put on top.
func written(n int, source string, r *receivers.Receiver, id string, sender ...string) (list []*envelope.Message) {
	if r.Name == "microsoft" {
		id = "AM0PEPF00000001.mail.protection.outlook.com"
	}
	for i := range n {
		domain := fmt.Sprintf("sender%d.example", i)
		fields := slices.Concat(receiverstest.Sample(r, id, "bob@"+domain), sender)
		if r.Name != "microsoft" {
			fields = append([]string{received}, fields...)
		}
		fields = append(fields, "DKIM-Signature: v=1; d="+domain+"; s=s1; h=from:to:date; bh=AbCd; b=EfGh")
		m := mail(source, "bob@"+domain, fields...)
		m.Headers = slices.DeleteFunc(m.Headers, func(f envelope.Field) bool { // one signature is enough
			return f.Name == "DKIM-Signature" && !strings.Contains(f.Value, "d="+domain+";")
		})
		if m.Headers[len(fields)].Name == "DKIM-Signature" {
			m.Headers = slices.Delete(m.Headers, len(fields), len(fields)+1)
		}
		list = append(list, m)
	}
	return list
}

func known(t *testing.T, name string) (*receivers.Receiver, string) {
	t.Helper()
	r, ok := receivers.ByName(name)
	if !ok {
		t.Fatal(name)
	}
	id, _ := r.Exact()
	return &r, id
}

// wanted returns the lines that the preset of a known IMAP server comes to.
func wanted(r *receivers.Receiver) string {
	switch r.Verdict {
	case policy.ByNone, policy.ByMicrosoft:
		return unusable
	}
	lines := "authserv_id = " + idList(r.IDs)
	if r.Verdict != policy.ByFirst {
		lines += fmt.Sprintf("\nverdict = %q", r.Verdict)
	}
	if r.Evidence == policy.ByEither {
		lines += "\nevidence = \"either\""
	}
	return lines
}

// At each known IMAP server the lines are those of the preset. They verify all the mail,
// and a flood of mail with another id, on top or below, changes nothing about them.
func TestKnownServers(t *testing.T) {
	const evil = "Authentication-Results: mx.evil.example; dkim=pass header.d=example.com; dmarc=pass header.from=example.com"
	for _, r := range receivers.All() {
		if len(r.IMAP) == 0 {
			continue
		}
		id, _ := r.Exact()
		source := "imaps://me@" + r.IMAP[0] + "/INBOX"
		genuine := written(12, source, &r, id)
		out := report(t, "", genuine)
		if lines(out) != wanted(&r) || !strings.Contains(flat(out), "verifies 12 of 12 mails") != (r.Verdict == policy.ByNone) {
			t.Errorf("%s: the lines are\n%s\nwant\n%s\nin\n%s", r.Name, lines(out), wanted(&r), out)
		}
		flood := written(100, source, &r, id, evil)
		for _, m := range flood {
			if r.Name != "microsoft" && r.Name != "gmail" { // these write on top, whatever comes
				at := slices.IndexFunc(m.Headers, func(f envelope.Field) bool { return strings.Contains(f.Value, "evil") })
				f := m.Headers[at]
				m.Headers = slices.Insert(slices.Delete(m.Headers, at, at+1), 0, f)
			}
		}
		out = report(t, "", genuine, flood)
		if lines(out) != wanted(&r) {
			t.Errorf("%s, flooded: the lines are\n%s\nin\n%s", r.Name, lines(out), out)
		}
		if strings.Contains(lines(out), "evil") || strings.Contains(out, "authserv_id = \"mx.evil") || strings.Contains(out, "# source") {
			t.Errorf("%s, flooded:\n%s", r.Name, out)
		}
	}
}

// Rule M is shown with what it would verify, and left to a person, with the probe.
func TestMicrosoftIsChosen(t *testing.T) {
	r, id := known(t, "microsoft")
	for _, source := range []string{"imaps://me@outlook.office365.com/INBOX", "maildir:Maildir"} {
		out := report(t, "", written(12, source, r, id))
		if lines(out) != unusable || !strings.Contains(out, "\n# verdict = \"microsoft\"\n") || !strings.Contains(out, "scripts/probe-receiver mail --receiver microsoft") ||
			!strings.Contains(flat(out), "would verify 12 of 12 mails of "+source[:len("maildir:")]) {
			t.Error(out)
		}
	}
	bare := mail(inbox, "bob@partner.example", received, "Authentication-Results: spf=pass smtp.mailfrom=partner.example; dkim=pass header.d=partner.example; dmarc=pass header.from=partner.example")
	if out := report(t, "", repeat(12, bare)); strings.Contains(out, "# verdict = \"microsoft\"") {
		t.Errorf("without the fields of its servers:\n%s", out)
	}
}

// A server of one's own that writes several fields is read as a set: at once if they
// stand where no sender can put them, else if a person knows it.
func TestOwnServers(t *testing.T) {
	r, _ := known(t, "opendkim-opendmarc")
	const id = "mx.example.net"
	below := written(12, inbox, r, id)
	out := report(t, "", below)
	if lines(out) != `evidence = "either"` || !strings.Contains(out, "\n# authserv_id = \"mx.example.net\"\n# verdict = \"set\"\n") {
		t.Error(out)
	}
	var above []*envelope.Message
	for _, m := range below {
		c := *m
		c.Headers = append(append([]envelope.Field{}, m.Headers[1:3]...), append([]envelope.Field{m.Headers[0]}, m.Headers[3:]...)...)
		above = append(above, &c)
	}
	out = report(t, "", above)
	if lines(out) != "authserv_id = \"mx.example.net\"\nverdict = \"set\"" {
		t.Error(out)
	}
	if !strings.Contains(flat(out), `verdict "set", authserv_id "mx.example.net" verifies 12 of 12 mails.`) ||
		!strings.Contains(flat(out), `verdict "first", authserv_id "mx.example.net" verifies 0 of 12 mails.`) {
		t.Error(out)
	}
}

// Two MX hosts, each with a name of its own.
func TestTwoMX(t *testing.T) {
	out := report(t, "", usual(20, "mx1.example.net"), usual(20, "mx2.example.net"))
	if lines(out) != "authserv_id = [\"mx1.example.net\", \"mx2.example.net\"]\nverdict = \"set\"" {
		t.Error(out)
	}
	out = report(t, "", usual(90, "mx1.example.net"), sent(usual(9, "mx2.example.net")))
	if lines(out) != `authserv_id = "mx1.example.net"` || strings.Contains(out, "\"mx2") {
		t.Errorf("mx2 stands where a sender can put it:\n%s", out)
	}
}

// A server that orders the fields by name has the sender's above every Received field,
// too. Neither this nor any number makes it a pin, nor do ids of known receivers.
func TestFloods(t *testing.T) {
	r, _ := known(t, "rspamd")
	const id, forged = "mx.example.net", "mx.evil.example"
	grouped := func(list []*envelope.Message) []*envelope.Message {
		for _, m := range list {
			slices.SortStableFunc(m.Headers, func(a, b envelope.Field) int { return strings.Compare(a.Name, b.Name) })
		}
		return list
	}
	flood := written(400, inbox, r, id)
	for i, m := range flood {
		domain := fmt.Sprintf("sender%d.example", i)
		name, value, _ := strings.Cut(verdictOf(forged, domain, domain), ": ")
		m.Headers = slices.Insert(m.Headers, 0, envelope.Field{Name: name, Value: value})
	}
	for _, genuine := range []int{0, 40} {
		out := report(t, "", grouped(written(genuine, inbox, r, id)), grouped(flood))
		if strings.Contains(lines(out), "authserv_id") || genuine > 0 && strings.Contains(out, "authserv_id = \"mx.evil") {
			t.Errorf("grouped, beside %d:\n%s", genuine, out)
		}
	}
	for _, preset := range []string{"fastmail", "yahoo", "posteo", "icloud", "proton", "mailru", "zoho"} {
		r, id := known(t, preset)
		bare := repeat(40, mail(inbox, "bob@partner.example", received))
		out := report(t, "", bare, written(400, inbox, r, id))
		if strings.Contains(lines(out), "authserv_id") || strings.Contains(lines(out), "verdict") {
			t.Errorf("%s, forged elsewhere:\n%s", preset, out)
		}
	}
	for _, unsafe := range []string{"gmx.net", "iva4-1.qloud-c.yandex.net", "mailin034.protonmail.ch", "disroot.org"} {
		out := report(t, "", usual(40, unsafe))
		if strings.Contains(out, "authserv_id = ") || lines(out) != unusable {
			t.Errorf("%s proves nothing:\n%s", unsafe, out)
		}
	}
}

// signed gives mail the check that pulse-fetch made.
func signed(list []*envelope.Message, result envelope.Verdict) []*envelope.Message {
	for _, m := range list {
		_, domain, _ := strings.Cut(m.Headers[slices.IndexFunc(m.Headers, func(f envelope.Field) bool { return f.Name == "From" })].Value, "@")
		m.DKIM = &envelope.DKIM{From: domain, Signatures: []envelope.Signature{{Domain: domain, Result: result, Headers: []string{"from", "to", "date"}}}}
		m.DKIM.DMARC.Result = envelope.DMARCFound
	}
	return list
}

// Where pulse-fetch checked DKIM, every kind of evidence is tried, and the safest that
// verifies most wins.
func TestEvidence(t *testing.T) {
	const id = "mx.example.net"
	const pin = "authserv_id = \"mx.example.net\""
	bare := func(n int) (list []*envelope.Message) {
		for i := range n {
			list = append(list, mail(inbox, fmt.Sprintf("bob@bare%d.example", i), received))
		}
		return list
	}
	good, bad := envelope.DKIMPass, envelope.DKIMFail
	for name, c := range map[string]struct {
		mails [][]*envelope.Message
		lines string
		first string
	}{
		"the word is enough":    {[][]*envelope.Message{signed(usual(20, id), good)}, pin, `verdict "first", authserv_id "mx.example.net" verifies 20 of 20`},
		"each sees some":        {[][]*envelope.Message{signed(usual(20, id), bad), signed(bare(2), good)}, pin + "\nevidence = \"either\"", `evidence "either", verdict "first", authserv_id "mx.example.net" verifies 22 of 22`},
		"our check sees all":    {[][]*envelope.Message{signed(usual(20, id), good), signed(bare(2), good)}, unusable, `evidence "dkim" verifies 22 of 22`},
		"our check sees little": {[][]*envelope.Message{signed(usual(20, id), bad)}, pin, `verdict "first", authserv_id "mx.example.net" verifies 20 of 20`},
	} {
		out := report(t, "", c.mails...)
		if lines(out) != c.lines || !strings.Contains(flat(out), " 1. "+c.first) && !strings.Contains(flat(out), "1. "+c.first) {
			t.Errorf("%s: the lines are\n%s\nin\n%s", name, lines(out), out)
		}
		for _, way := range []string{`evidence "dkim" verifies`, `evidence "either", verdict`, `evidence "both", verdict`} {
			if !strings.Contains(flat(out), way) {
				t.Errorf("%s: it does not say %s:\n%s", name, way, out)
			}
		}
	}
}

// Several sources, each with its own kind; what can't be pinned is checked by pulse.
func TestKindsOfSeveralSources(t *testing.T) {
	ms, _ := known(t, "microsoft")
	gmail, id := known(t, "gmail")
	fastmail, mx := known(t, "fastmail")
	out := report(t, "", written(12, "imaps://me@imap.gmail.com/INBOX", gmail, id), written(12, "imaps://me@imap.fastmail.com/INBOX", fastmail, mx),
		written(12, "imaps://me@outlook.office365.com/INBOX", ms, ""), repeat(12, mail("imaps://me@imap.gmx.net/INBOX", "bob@partner.example", received)))
	want := "evidence = \"either\"\n[[receiver]]\nsource      = \"imaps://me@imap.gmail.com/*\"\nauthserv_id = \"mx.google.com\"\n" +
		"[[receiver]]\nsource      = \"imaps://me@imap.fastmail.com/*\"\nauthserv_id = \"*.messagingengine.com\"\nverdict     = \"set\""
	if lines(out) != want || !strings.Contains(out, "# [[receiver]]\n# source  = \"imaps://me@outlook.office365.com/*\"\n# verdict = \"microsoft\"\n") {
		t.Errorf("the lines are\n%s\nwant\n%s\nin\n%s", lines(out), want, out)
	}
}
