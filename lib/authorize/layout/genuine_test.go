package layout

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/classify/identity"
	"pulse/lib/classify/receivers"
	"pulse/lib/classify/receivers/receiverstest"
	"pulse/lib/classify/suggest"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// chosen returns the policy of a preset after its operator has done what it says: put in
// the names, or chosen the verdict after the probe.
func chosen(t *testing.T, r *receivers.Receiver) *policy.Policy {
	t.Helper()
	lines := suggest.Preset("me@example.com", r)
	if r.Probed {
		lines = strings.Replace(lines, "\nevidence = \"dkim\"", "", 1)
	}
	for _, key := range []string{"authserv_id", "verdict", "evidence"} {
		lines = strings.Replace(lines, "\n# "+key+" = ", "\n"+key+" = ", 1)
	}
	p, err := policy.Parse(r.Name, []byte(lines))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// idOf returns what the receiver calls itself.
func idOf(r *receivers.Receiver, p *policy.Policy) string {
	id, _ := r.Exact()
	switch own, _ := p.Receiver(anySource); {
	case own.Verdict == policy.ByMicrosoft:
		return "AM0PEPF00000001.mail.protection.outlook.com"
	case r.Yours:
		return own.AuthservIDs[0]
	}
	return id
}

// delivered returns a mail as the receiver leaves it, under the fields that a forger may
// have put on top of what was sent.
func delivered(r *receivers.Receiver, p *policy.Policy, from string, forged ...string) *envelope.Message {
	id := idOf(r, p)
	_, domain, _ := strings.Cut(from, "@")
	fields := slices.Concat(receiverstest.Sample(r, id, from), forged, []string{
		"DKIM-Signature: v=1; a=rsa-sha256; d=" + domain + "; s=s1; h=from:to:subject:date:message-id; bh=AbCd; b=AbCdEf",
		"From: " + from, "To: agent@example.net", "Subject: x", "Date: Sat, 21 Nov 2026 06:55:00 +0000", "Message-ID: <1@x>",
	})
	m := &envelope.Message{Source: anySource}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		m.Headers = append(m.Headers, envelope.Field{Name: name, Value: value})
	}
	return m
}

// The lines of each preset verify the mail that its receiver writes so, and not the same
// mail with another sender's verdict in it twice.
func TestPresetsVerify(t *testing.T) {
	tried := 0
	for _, r := range receivers.All() {
		if r.Verdict == policy.ByNone {
			continue
		}
		tried++
		p := chosen(t, &r)
		m := delivered(&r, p, "me@example.com")
		if id := identity.Classify(m, p); !id.Verified {
			t.Errorf("%s: %s: %s", r.Name, id.Reason, id.Why)
		}
		if r.Verdict == policy.ByFirst {
			continue
		}
		m = delivered(&r, p, "me@example.com", receiverstest.Sample(&r, idOf(&r, p), "me@example.com")...)
		if id := identity.Classify(m, p); id.Verified {
			t.Errorf("%s: two verdicts, and it is verified", r.Name)
		}
	}
	if tried < 14 {
		t.Errorf("%d presets tried", tried)
	}
}
