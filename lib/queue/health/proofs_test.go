package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// proofsOf returns the lines of mail of a sender, one an hour, newest first. words is oldest first.
func proofsOf(sender, words string) (log []audit.Line) {
	list := strings.Fields(words)
	slices.Reverse(list)
	for i, word := range list {
		l := audit.Line{Time: now.Add(-time.Duration(i+1) * time.Hour), Event: task.Refused, Sender: sender, Source: "imaps://x"}
		l.IdentityReason = map[string]string{
			"good": "authenticated_external", "owner": "authenticated_owner", "weekold": "authenticated_external", "bad": "dkim_fail",
			"forged": "dmarc_fail", "unlisted": "authenticated_unlisted", "elsewhere": "not_addressed",
			"submitted": "authenticated_external", "unknownword": "of a later version",
		}[word]
		switch word {
		case "good":
			l.Event, l.Trust = task.Added, terms.ExternalVerified
		case "owner":
			l.Event, l.Trust = task.Added, terms.OwnerVerifiedEmail
		case "weekold":
			l.Time, l.Trust = now.AddDate(0, 0, -8), terms.ExternalVerified
		case "submitted":
			l.Source = ""
		}
		log = append(log, l)
	}
	return log
}

// TestFailing: senders whose mail was proven, and whose newest is not.
func TestFailing(t *testing.T) {
	for words, want := range map[string]string{
		"good bad":               "1 since 1h passed 2h dkim_fail",
		"good bad bad":           "2 since 2h passed 3h dkim_fail",
		"good bad forged":        "2 since 2h passed 3h dmarc_fail",
		"bad":                    "",
		"good":                   "",
		"bad good":               "",
		"good unlisted":          "",
		"good bad elsewhere":     "1 since 2h passed 3h dkim_fail", // to others, too: it says nothing of the proof
		"weekold bad":            "",
		"good bad good bad":      "1 since 1h passed 2h dkim_fail",
		"good submitted bad":     "1 since 1h passed 3h dkim_fail",
		"good bad bad unlisted":  "2 since 3h passed 4h dkim_fail",
		"weekold good bad":       "1 since 1h passed 2h dkim_fail",
		"good unknownword bad":   "1 since 1h passed 3h dkim_fail",
		"unlisted bad elsewhere": "",
		"owner bad":              "1 since 1h passed 2h dkim_fail",
	} {
		var p Proofs
		for _, l := range proofsOf("bob@colleague.example", words) {
			p.Add(&l, now.Sub(l.Time))
		}
		got := ""
		for _, one := range p.Failing() {
			got = fmt.Sprintf("%d since %s passed %s %s", one.Mails, duration.Span(now.Sub(one.Failed)), duration.Span(now.Sub(one.Passed)), one.Reason)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}

// TestFailingSender: health names a partner whose mail is not proven any more, and no owner, whose
// address everybody forges.
func TestFailingSender(t *testing.T) {
	for words, want := range map[string]string{
		"good bad bad": "failing_sender: mail of bob@colleague.example was proven until 2026-11-21T04:00:00Z, and since " +
			"2026-11-21T05:00:00Z it is not (2 mails): dkim_fail; or it is not theirs; pulse-queue log --event refused",
		"good bad good": "",
		"good bad":      "",
		"owner forged":  "",
		"bad bad":       "",
	} {
		w := world{log: proofsOf("bob@colleague.example", words)}
		found, err := Look(shop{&w}, facts())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			got = append(got, f.Line())
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}

// TestProofsAreBounded: whoever writes in the name of many is not kept.
func TestProofsAreBounded(t *testing.T) {
	var p Proofs
	for i := range maxProofs + 500 {
		l := audit.Line{Event: task.Refused, Source: "imaps://x", IdentityReason: "dmarc_fail"}
		l.Sender = fmt.Sprint(i) + strings.Repeat("x", 1000) + "@x.example"
		p.Add(&l, 0)
	}
	if len(p.by) != maxProofs {
		t.Errorf("%d are kept", len(p.by))
	}
	for sender := range p.by {
		if len(sender) > maxSender {
			t.Fatalf("%d bytes", len(sender))
		}
	}
}
