package identity

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// fresh is ownersMail as it was fetched five seconds after it arrived.
func fresh() *envelope.Message {
	m := ownersMail()
	m.Received = time.Date(2026, 11, 21, 6, 55, 0, 0, time.UTC)
	m.Fetched = m.Received.Add(5 * time.Second)
	return m
}

// sessionOf is a session in which a message lies.
func sessionOf(m *envelope.Message) approval.Session {
	return approval.Session{
		ID: "0123456789abcdef", Sender: "ME@example.com", Max: 2, Left: 1, Level: approval.Terminal,
		Opened: m.Received.Add(-time.Minute), Expires: m.Received.Add(time.Hour),
	}
}

func set(m *envelope.Message, name, value string) {
	for i := range m.Headers {
		if m.Headers[i].Name == name {
			m.Headers[i].Value = value
		}
	}
}

// TestApprovedSession: a message in a session would be the owner's without one, and a
// session changes nothing for any other message.
func TestApprovedSession(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*envelope.Message, *policy.Policy, *approval.Session)
		want   terms.Trust
	}{
		"inside":      {func(*envelope.Message, *policy.Policy, *approval.Session) {}, terms.ApprovedSession},
		"no max_age":  {func(_ *envelope.Message, p *policy.Policy, _ *approval.Session) { p.MaxAge = 0 }, terms.ApprovedSession},
		"too easy":    {func(_ *envelope.Message, p *policy.Policy, _ *approval.Session) { p.Approval.Require = "signature" }, terms.OwnerVerifiedEmail},
		"used up":     {func(_ *envelope.Message, _ *policy.Policy, s *approval.Session) { s.Left = 0 }, terms.OwnerVerifiedEmail},
		"another one": {func(_ *envelope.Message, _ *policy.Policy, s *approval.Session) { s.Sender = "it@example.com" }, terms.OwnerVerifiedEmail},
		"dated before": {func(m *envelope.Message, _ *policy.Policy, _ *approval.Session) {
			set(m, "Date", "Sat, 21 Nov 2026 06:30:00 +0000")
		}, terms.OwnerVerifiedEmail},
		"an unsigned Date": {func(m *envelope.Message, p *policy.Policy, _ *approval.Session) {
			set(m, "DKIM-Signature", "v=1; d=example.com; s=s1; h=from:to:subject:message-id; bh=AbCd; b=AbCdEf")
			p.MaxAge = 0
		}, terms.OwnerVerifiedEmail},
		"the same, accepted": {func(m *envelope.Message, p *policy.Policy, _ *approval.Session) {
			set(m, "DKIM-Signature", "v=1; d=example.com; s=s1; h=from:to:subject:message-id; bh=AbCd; b=AbCdEf")
			p.AcceptUnsigned = []string{"Date"}
		}, terms.ApprovedSession},
		"without Date": {func(m *envelope.Message, p *policy.Policy, _ *approval.Session) {
			set(m, "Date", "")
			p.MaxAge = 0
		}, terms.OwnerVerifiedEmail},
		"no Date field": {func(m *envelope.Message, p *policy.Policy, _ *approval.Session) {
			for i := range m.Headers {
				if m.Headers[i].Name == "Date" {
					m.Headers[i].Name = "X-Date"
				}
			}
			p.MaxAge = 0
		}, terms.OwnerVerifiedEmail},
		"stale": {func(_ *envelope.Message, p *policy.Policy, _ *approval.Session) { p.MaxAge = time.Second }, terms.OwnerVerifiedEmail},
		"automatic": {func(m *envelope.Message, _ *policy.Policy, _ *approval.Session) {
			m.Headers = append(m.Headers, envelope.Field{Name: "Auto-Submitted", Value: "auto-replied"})
		}, terms.OwnerVerifiedEmail},
		"received before": {func(m *envelope.Message, _ *policy.Policy, s *approval.Session) {
			m.Received = s.Opened.Add(-time.Second)
		}, terms.OwnerVerifiedEmail},
		"not proven": {func(m *envelope.Message, _ *policy.Policy, _ *approval.Session) {
			set(m, "Authentication-Results", "mx.example.net; dkim=fail header.i=@example.com; dmarc=pass header.from=example.com")
		}, terms.OwnerClaim},
		"by SPF alone": {func(m *envelope.Message, _ *policy.Policy, _ *approval.Session) {
			set(m, "Authentication-Results", "mx.example.net; spf=pass smtp.mailfrom=example.com; dmarc=pass header.from=example.com")
		}, terms.OwnerClaim},
		"no owner": {func(_ *envelope.Message, p *policy.Policy, _ *approval.Session) {
			p.Owners = []string{"it@example.com"}
			p.AllowedExternal = []string{"me@example.com"}
		}, terms.ExternalVerified},
		"with another's Date": {func(m *envelope.Message, _ *policy.Policy, _ *approval.Session) {
			m.Headers = append(m.Headers, envelope.Field{Name: "Date", Value: "Sat, 21 Nov 2026 06:55:00 +0000"})
		}, terms.OwnerClaim},
	} {
		m, p := fresh(), testPolicy()
		s := sessionOf(m)
		c.change(m, p, &s)
		without, id := Classify(m, p), Classify(m, p, s)
		if id.Trust != c.want {
			t.Errorf("%s: %s (%s)", name, id.Trust, id.Why)
		}
		if c.want != terms.ApprovedSession {
			if !reflect.DeepEqual(id, without) || id.Session != "" {
				t.Errorf("%s: %+v, and without a session %+v", name, id, without)
			}
			continue
		}
		if id.Reason != ApprovedSession || id.Session != s.ID || !strings.Contains(string(id.Append(nil)), `"session":"`+s.ID+`"`) {
			t.Errorf("%s: %+v", name, id)
		}
		id.Trust, id.Reason, id.Why, id.Session = without.Trust, without.Reason, without.Why, ""
		if !reflect.DeepEqual(id, without) {
			t.Errorf("%s: more changed: %+v, %+v", name, id, without)
		}
		checkRoundTrip(t, &id)
	}
}

// TestSessionOfSeveral: the record names the first session that covers the message.
func TestSessionOfSeveral(t *testing.T) {
	m := fresh()
	past, used, good := sessionOf(m), sessionOf(m), sessionOf(m)
	past.ID, past.Expires = "past", past.Opened.Add(time.Second)
	used.ID, used.Left = "used", 0
	if id := Classify(m, testPolicy(), past, used, good); id.Session != good.ID {
		t.Errorf("%+v", id)
	}
}

// TestPlatformHasNoSession: a session is for mail.
func TestPlatformHasNoSession(t *testing.T) {
	m, p := fresh(), testPolicy()
	p.Platforms = []policy.Platform{{Source: m.Source, OwnerIDs: []peer.ID{"7"}}}
	m.Sender = &envelope.Sender{ID: "7"}
	s := sessionOf(m)
	s.Sender = platformSender(m.Source, "7")
	if id := Classify(m, p, s); id.Trust != terms.OwnerVerifiedEmail {
		t.Errorf("%+v", id)
	}
}
