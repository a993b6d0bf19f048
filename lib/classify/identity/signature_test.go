package identity

import (
	"testing"

	"pulse/lib/shared/policy"
)

func TestAligned(t *testing.T) {
	for _, c := range []struct {
		signer, from    string
		strict, relaxed bool
	}{
		{"example.com", "EXAMPLE.com", true, true},
		{"mail.example.com", "example.com", false, true},
		{"example.com", "mail.example.com", false, true},
		{"a.example.com", "b.example.com", false, false},
		{"com", "example.com", false, false},
		{"example.com", "com", false, false},
		{"localhost", "localhost", true, true},
		{"xexample.com", "example.com", false, false},
		{"", "example.com", false, false},
		{".example.com", "a.example.com", false, false},
		{"example.com.", "example.com", false, false},
		{"ban\u212a.example", "bank.example", false, false},
	} {
		if got := aligned(c.signer, c.from, policy.Strict); got != c.strict {
			t.Errorf("strict %s %s: %v", c.signer, c.from, got)
		}
		if got := aligned(c.signer, c.from, policy.Relaxed); got != c.relaxed {
			t.Errorf("relaxed %s %s: %v", c.signer, c.from, got)
		}
		if !aligned(c.signer, c.from, policy.Any) {
			t.Errorf("any %s %s: false", c.signer, c.from)
		}
	}
}

// TestSignatures: what dkim results prove for me@example.com under strict alignment.
func TestSignatures(t *testing.T) {
	for results, want := range map[string]Reason{
		"dkim=pass header.d=example.com":                                                   AuthenticatedOwner,
		"dkim=pass header.i=@example.com":                                                  AuthenticatedOwner,
		"dkim=pass header.i=Me@example.com":                                                AuthenticatedOwner,
		"dkim=pass header.i=@sub.example.com header.d=example.com":                         AuthenticatedOwner,
		"dkim=fail header.d=example.com; dkim=pass header.d=example.com":                   AuthenticatedOwner,
		"dkim=pass header.i=x@example.com; dkim=pass header.d=example.com":                 AuthenticatedOwner,
		"dkim=pass header.i=@example.com header.d=sub.example.com":                         dkimAmbiguous,
		"dkim=pass header.i=@sub.example.com":                                              dkimNotAligned,
		"dkim=pass header.i=example.com":                                                   dkimAmbiguous,
		"dkim=pass header.i=me@x@example.com":                                              dkimAmbiguous,
		"dkim=pass header.i=@example.com header.i=@example.com":                            dkimAmbiguous,
		"dkim=pass header.d=example.com header.from=a.example header.from=b.example":       dkimAmbiguous,
		"dkim=pass header.i=me2@example.com":                                               dkimOtherUser,
		"dkim=pass header.i=\"me\"@example.com":                                            dkimOtherUser,
		"dkim=pass smtp.d=example.com":                                                     dkimUnbound,
		"dkim=pass d=example.com":                                                          dkimUnbound,
		"dkim=none":                                                                        dkimFail,
		"dkim=policy header.d=example.com":                                                 dkimFail,
		"dkim=fail header.d=example.com; dkim=pass header.d=evil.example":                  dkimNotAligned,
		"dkim=pass header.d=evil.example; dkim=pass header.i=mallory@example.com":          dkimOtherUser,
		"dkim-adsp=pass header.d=example.com":                                              noDKIM,
		"x-dkim=pass header.d=example.com; arc=pass header.d=example.com; domainkeys=pass": noDKIM,
	} {
		m := ownersMail()
		m.Headers[0].Value = "mx.example.net; " + results + "; dmarc=pass header.from=example.com"
		if id := Classify(m, testPolicy()); id.Reason != want {
			t.Errorf("%s: %s (%s), want %s", results, id.Reason, id.Why, want)
		}
	}
}
