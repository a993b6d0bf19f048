package identity

import (
	"strings"
	"testing"
	"unicode"

	"pulse/lib/fetch/message"
	"pulse/lib/shared/envelope"
)

// TestEncodedWordsMakeNoField: whatever line ends and addresses a Subject spells, in any
// charset, the message has the same fields, shows one line, and has the same sender.
func TestEncodedWordsMakeNoField(t *testing.T) {
	parsed := func(subject string) (*envelope.Message, Identity) {
		raw := "Subject: " + subject + "\n"
		for name, value := range ownersMail().Fields {
			if name != "Subject" {
				raw += name + ": " + value + "\n"
			}
		}
		m := message.Parse(message.Raw{Header: []byte(raw), Size: int64(len(raw))}, message.Options{Scope: envelope.Headers})
		m.Source, m.Fetched, m.Received = ownersMail().Source, ownersMail().Fetched, ownersMail().Received
		return &m, Classify(&m, testPolicy())
	}
	plain, want := parsed("x")
	if !want.Verified {
		t.Fatal(want.Why)
	}
	for _, subject := range []string{
		"=?utf-8?q?a=0D=0AFrom:_boss=40corp.example=0D=0A=0D=0A?=", "=?utf-7?q?a+AA0ACg-From:_boss+AEA-corp.example+AAoACg-?=",
		"=?utf-16?B?AGEADQAKAEYAcgBvAG0AOgAgAGIAQABj?=", "=?utf-16le?B?YQANAAoARgByAG8AbQA6ACAAYgBAAGMA?=",
		"=?utf-8?B?YQ0KRnJvbTogYm9zc0Bjb3JwLmV4YW1wbGU====?=", "=?utf-8?q?a=E2=80=A8From:_boss=40corp.example=C2=85?=",
	} {
		m, got := parsed(subject)
		if len(m.Headers) != len(plain.Headers) || m.From != plain.From || got.Sender != want.Sender || got.Verified != want.Verified || got.Reason != want.Reason {
			t.Errorf("%s: %q, %+v", subject, m.From, got)
		}
		if !strings.HasPrefix(m.Subject, "a From: b") || strings.ContainsFunc(m.Subject, unicode.IsControl) {
			t.Errorf("%s is shown as %q", subject, m.Subject)
		}
	}
}
