package identity

import (
	"testing"
	"time"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

const hookPolicy = `
authserv_id = "mx.example.com"
owners      = ["me@example.com"]
[[platform]]
source = "webhook:/spool/ci"
[[platform]]
source = "webhook:/spool/me"
trust  = "owner_verified_email"
`

// mailHeader is a header that would prove the owner if it stood in mail.
var mailHeader = []envelope.Field{
	{Name: "Authentication-Results", Value: "mx.example.com; dkim=pass header.d=example.com; dmarc=pass header.from=example.com"},
	{Name: "DKIM-Signature", Value: "v=1; d=example.com; s=s1; h=from:to:date; bh=AbCd; b=AbCdEf"},
	{Name: "From", Value: "me@example.com"}, {Name: "To", Value: "agent+send@example.com"}, {Name: "Date", Value: "Fri, 15 Jan 2027 08:00:00 +0000"},
}

func TestWebhook(t *testing.T) {
	p, err := policy.Parse("p", []byte(hookPolicy))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		name, source string
		hook         *envelope.Webhook
		defect       envelope.Defect
		trust        terms.Trust
		reason       Reason
		verified     bool
	}{
		{"declared", "webhook:/spool/ci", &envelope.Webhook{Result: "pass"}, "", terms.ExternalVerified, webhookSigned, true},
		{"declared, the owner's", "webhook:/spool/me", &envelope.Webhook{Result: "pass"}, "", terms.OwnerVerifiedEmail, webhookSigned, true},
		{"not declared", "webhook:/spool/me/", &envelope.Webhook{Result: "pass"}, "", terms.Unknown, webhookUndeclared, true},
		{"no signature", "webhook:/spool/me", &envelope.Webhook{Result: "none"}, "", terms.Unknown, webhookUnsigned, false},
		{"a wrong one", "webhook:/spool/me", &envelope.Webhook{Result: "fail"}, "", terms.Unknown, webhookSignature, false},
		{"late", "webhook:/spool/me", &envelope.Webhook{Result: "late"}, "", terms.Unknown, webhookTime, false},
		{"malformed", "webhook:/spool/me", &envelope.Webhook{Result: "malformed"}, "", terms.Unknown, webhookMalformed, false},
		{"a word of a later version", "webhook:/spool/me", &envelope.Webhook{Result: "passed"}, "", terms.Unknown, webhookMalformed, false},
		{"no result", "webhook:/spool/me", &envelope.Webhook{}, "", terms.Unknown, webhookMalformed, false},
		{"nobody looked", "webhook:/spool/me", nil, "", terms.Unknown, webhookUnchecked, false},
		{"a defect", "webhook:/spool/me", &envelope.Webhook{Result: "pass"}, envelope.TooDeep, terms.Unknown, Defective, false},
		{"of no spool", "imaps://me@imap.example.com/INBOX", &envelope.Webhook{Result: "pass"}, "", terms.Unknown, webhookUnchecked, false},
	} {
		m := &envelope.Message{Source: c.source, Webhook: c.hook, Fetched: now, Received: now, Headers: mailHeader,
			Sender: &envelope.Sender{ID: "7"}}
		if c.defect != "" {
			m.Defects = []envelope.Defect{c.defect}
		}
		id := Classify(m, p)
		if id.Trust != c.trust || id.Reason != c.reason || id.Verified != c.verified || id.Sender != c.source || id.Stale {
			t.Errorf("%s: %+v", c.name, id)
		}
		if Recipients(m) != nil {
			t.Errorf("%s: a request has recipients", c.name)
		}
	}
	m := &envelope.Message{Source: "imaps://me@imap.example.com/INBOX", Fetched: now, Received: now, Headers: mailHeader}
	if id := Classify(m, p); id.Trust != terms.OwnerVerifiedEmail {
		t.Errorf("the header proves nobody even in mail: %+v", id)
	}
}

func TestWebhookStaleAndCap(t *testing.T) {
	p, err := policy.Parse("p", []byte(hookPolicy))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	m := &envelope.Message{Source: "webhook:/spool/me", Webhook: &envelope.Webhook{Result: "pass"}, Fetched: now, Received: now.Add(-49 * time.Hour)}
	id := Classify(m, p)
	if !id.Stale {
		t.Error("two days in the spool, and fresh")
	}
	for _, c := range []struct {
		change func()
		want   terms.Trust
	}{
		{func() {}, terms.OwnerVerifiedEmail},
		{func() { p.Platforms[1].Trust = terms.ExternalVerified }, terms.Unknown},
		{func() { p.Platforms = p.Platforms[:1] }, terms.Unknown},
	} {
		c.change()
		kept := id
		kept.Cap(p)
		if kept.Trust != c.want {
			t.Errorf("%s, want %s", kept.Trust, c.want)
		}
	}
}
