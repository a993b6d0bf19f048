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

// TestWebhookOfAPlatform: what a platform signed is trusted by the id of its sender, and by
// nothing else.
func TestWebhookOfAPlatform(t *testing.T) {
	p, err := policy.Parse("p", []byte(hookPolicy+`
[[platform]]
source      = "webhook:/spool/chat"
owner_ids   = ["U7", "123"]
allowed_ids = ["U8"]
[[platform.chat]]
id = "C1"
`))
	if err != nil {
		t.Fatal(err)
	}
	const chat, slack = "webhook:/spool/chat", envelope.WebhookSlack
	const unknown, external, owner = terms.Unknown, terms.ExternalVerified, terms.OwnerVerifiedEmail
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		name, source string
		result       envelope.WebhookResult
		scheme       envelope.WebhookScheme
		sender       *envelope.Sender
		at           time.Time
		who          string
		trust        terms.Trust
		reason       Reason
		stale        bool
	}{
		{"the owner", chat, "pass", slack, &envelope.Sender{ID: "U7", Chat: "C9"}, now, chat + ":U7", owner, AuthenticatedOwner, false},
		{"the owner's digits", chat, "pass", slack, &envelope.Sender{ID: `"123"`}, now, chat + `:"123"`, owner, AuthenticatedOwner, false},
		{"the number of these digits", chat, "pass", slack, &envelope.Sender{ID: "123"}, now, chat + ":123", unknown, authenticatedUnlisted, false},
		{"other capitals", chat, "pass", slack, &envelope.Sender{ID: "u7"}, now, chat + ":u7", unknown, authenticatedUnlisted, false},
		{"listed", chat, "pass", slack, &envelope.Sender{ID: "U8", Chat: "C1", Mentioned: true}, now, chat + ":U8", external, authenticatedExternal, false},
		{"listed, in another chat", chat, "pass", slack, &envelope.Sender{ID: "U8", Chat: "c1", Mentioned: true}, now, chat + ":U8", unknown, platformChat, false},
		{"a bot with the owner's id", chat, "pass", slack, &envelope.Sender{ID: "U7", Bot: true}, now, chat + ":U7", unknown, platformBot, false},
		{"three days old", chat, "pass", slack, &envelope.Sender{ID: "U7"}, now.Add(-72 * time.Hour), chat + ":U7", owner, AuthenticatedOwner, true},
		{"three days early", chat, "pass", slack, &envelope.Sender{ID: "U7"}, now.Add(72 * time.Hour), chat + ":U7", owner, AuthenticatedOwner, true},
		{"without a time", chat, "pass", slack, &envelope.Sender{ID: "U7"}, time.Time{}, chat + ":U7", owner, AuthenticatedOwner, true},
		{"nobody is named", chat, "pass", slack, nil, now, "", unknown, platformNoSender, false},
		{"a bad signature", chat, "fail", slack, &envelope.Sender{ID: "U7"}, now, chat, unknown, webhookSignature, false},
		{"a late one", chat, "late", slack, &envelope.Sender{ID: "U7"}, now, chat, unknown, webhookTime, false},
		{"whoever has a secret", chat, "pass", envelope.WebhookPlain, &envelope.Sender{ID: "U7"}, now, chat, unknown, platformNoSender, false},
		{"a scheme of a later version", chat, "pass", "matrix", &envelope.Sender{ID: "U7"}, now, chat + ":U7", owner, AuthenticatedOwner, false},
		{"where the secret is the owner's", "webhook:/spool/me", "pass", slack, &envelope.Sender{ID: "U7"}, now, "webhook:/spool/me:U7", unknown, authenticatedUnlisted, false},
		{"not declared", "webhook:/spool/x", "pass", slack, &envelope.Sender{ID: "U7"}, now, "webhook:/spool/x", unknown, webhookUndeclared, false},
	} {
		m := &envelope.Message{Source: c.source, Fetched: now, Received: now, Headers: mailHeader, Sender: c.sender,
			Webhook: &envelope.Webhook{Result: c.result, Scheme: c.scheme, Timestamp: c.at}}
		id := Classify(m, p)
		if id.Sender != c.who || id.Trust != c.trust || id.Reason != c.reason || id.Stale != c.stale {
			t.Errorf("%s: %+v", c.name, id)
		}
		kept := id
		if kept.Cap(p); kept.Trust != id.Trust {
			t.Errorf("%s: under the same policy later %s", c.name, kept.Trust)
		}
		p := *p
		p.Platforms = p.Platforms[:2]
		if id.Cap(&p); id.Trust != unknown {
			t.Errorf("%s: %s, and the policy lists nobody", c.name, id.Trust)
		}
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
