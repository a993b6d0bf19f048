package identity

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// goodCheck is message.dkim of the owner's mail.
func goodCheck() *envelope.DKIM {
	return &envelope.DKIM{From: "example.com", DMARC: envelope.DMARC{Result: envelope.DMARCFound},
		Signatures: []envelope.Signature{{Result: envelope.DKIMPass, Domain: "example.com",
			Headers: []string{"from", "to", "subject", "date", "message-id"}}}}
}

// unsignedCheck is that of mail without a signature.
func unsignedCheck() *envelope.DKIM {
	return &envelope.DKIM{From: "example.com", DMARC: envelope.DMARC{Result: envelope.DMARCFound}}
}

// TestEither: the pinned verdict decides where there is one, whatever it says; pulse's own
// check where there is none.
func TestEither(t *testing.T) {
	const first, set, ms = "a name for each host", "Fastmail", "Microsoft"
	for _, c := range []struct {
		shape, why, old, new string
		needs                bool   // its own check
		reason               Reason // with a good check
	}{
		{first, "pinned", "", "", false, AuthenticatedOwner},
		{first, "pinned, and says fail", "dmarc=pass", "dmarc=fail", false, DMARCFail},
		{first, "pinned, and can't be read", "dmarc=pass", "dmarc", false, authResMalformed},
		{first, "pinned, with an odd name", "Authentication-Results:", "Authentication-Results :", false, authResName},
		{first, "pinned, of another version", "net; dkim", "net 2; dkim", false, authResVersion},
		{first, "another server's on top", "Auth", "Authentication-Results: mx.example.org; none\nAuth", true, AuthenticatedOwner},
		{first, "without a name on top", "Auth", "Authentication-Results: spf=pass\nAuth", true, AuthenticatedOwner},
		{first, "none", "Authentication-Results:", "X-Results:", true, AuthenticatedOwner},
		{set, "a set", "", "", false, AuthenticatedOwner},
		{set, "a set with one too many", "From: Me", "Authentication-Results: phl-mx-09.messagingengine.com; none\nFrom: Me", false, severalAuthRes},
		{set, "another server's on top", "Auth", "Authentication-Results: mx.example.org; none\nAuth", true, AuthenticatedOwner},
		{ms, "from outside", "", "", false, AuthenticatedOwner},
		{ms, "not in place", "Received-SPF", "X-Received-SPF", false, microsoftForm},
		{ms, "no field", "\nAuthentication-Results:", "\nX-Results:", true, AuthenticatedOwner},
		{ms, "a gateway's field", "\nAuthentication-Results: ", "\nAuthentication-Results: mx.example.org; ", true, AuthenticatedOwner},
		{"mail.ru", "a field of the sender on top", "From: Me", "Authentication-Results: mx.example.org; none\nFrom: Me", false, AuthenticatedOwner},
	} {
		s := shapeOf(t, c.shape)
		m := headed(strings.Replace(s.above+sent+s.below, c.old, c.new, 1))
		p := s.policy()
		p.Evidence = policy.ByEither
		if got := NeedsDKIM(m, p); got != c.needs {
			t.Errorf("%s: %s: needs its own check: %v", c.shape, c.why, got)
		}
		id := Classify(m, p)
		if c.needs != (id.Reason == EvidenceMissing) || !c.needs && id.Reason != c.reason {
			t.Errorf("%s: %s: without message.dkim %s (%s)", c.shape, c.why, id.Reason, id.Why)
		}
		m.DKIM = goodCheck()
		if id := Classify(m, p); id.Reason != c.reason || id.Verified && c.needs != strings.HasPrefix(id.Why, "a DKIM signature") {
			t.Errorf("%s: %s: %s (%s)", c.shape, c.why, id.Reason, id.Why)
		}
		m.DKIM.Signatures[0].Result = envelope.DKIMFail
		if id := Classify(m, p); id.Verified == c.needs && c.reason == AuthenticatedOwner {
			t.Errorf("%s: %s, and the signature is bad: %s", c.shape, c.why, id.Reason)
		}
	}
}

// TestEitherMakesOneTask: whoever sends a mail on can put a field in front, so that pulse's own
// check proves it. The task is the same.
func TestEitherMakesOneTask(t *testing.T) {
	p := testPolicy()
	p.Evidence = policy.ByEither
	for _, h := range []string{"from:to:subject:date:message-id", "from:to:subject:date"} {
		m := fields(append(slices.Clone(signedFields),
			"DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s1; h="+h+"; bh=AbCd; b=AbCdEf",
			"Authentication-Results: mx.example.net; dkim=pass header.d=example.com; dmarc=pass header.from=example.com")...)
		m.DKIM = goodCheck()
		m.DKIM.Signatures[0].Headers = strings.Split(h, ":")
		once := Classify(m, p)
		m.Headers = append([]envelope.Field{{Name: "Authentication-Results", Value: "x.example; none"}}, m.Headers...)
		again := Classify(m, p)
		if !once.Verified || !again.Verified || once.Why == again.Why || once.Signed != again.Signed {
			t.Errorf("%s:\n%+v\n%+v", h, once, again)
		}
	}
}

// Without a receiver, and for other sources, either is pulse's own check.
func TestEitherWithoutReceiver(t *testing.T) {
	p := testPolicy()
	p.AuthservIDs, p.Evidence = nil, policy.ByEither
	m := ownersMail()
	if !NeedsDKIM(m, p) {
		t.Error("nothing is needed")
	}
	m.DKIM = goodCheck()
	if id := Classify(m, p); !id.Verified {
		t.Error(id.Why)
	}
	for _, e := range []policy.Evidence{policy.ByDKIM, policy.ByBoth} {
		if p = testPolicy(); NeedsDKIM(m, p) {
			t.Error("authres needs no check of its own")
		}
		if p.Evidence = e; !NeedsDKIM(m, p) {
			t.Errorf("%s needs none", e)
		}
		p.Platforms = []policy.Platform{{Source: m.Source}}
		if NeedsDKIM(m, p) || NeedsDKIM(&envelope.Message{Source: "webhook:/a"}, p) {
			t.Error("what is no mail has no signature")
		}
	}
}
