package identity

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/envelope"
)

func TestReadReceived(t *testing.T) {
	for _, c := range []struct{ value, by, login string }{
		{"from a.example (a.example [192.0.2.1]) by mx.example.net with ESMTPS id 1", "mx.example.net", ""},
		{"by 2002:a05:6402:1234:b0:0:0:0 with SMTP id a12", "2002:a05:6402:1234:b0:0:0:0", ""},
		{"from a\r\n\tby mx.example.net.\r\n\t(Postfix) with\r\n\tESMTPSA id 1", "mx.example.net", "with ESMTPSA"},
		{"from a by [192.0.2.9] with lmtpa", "192.0.2.9", "with lmtpa"},
		{"by mx.example.net (8.17.1/8.17.1/Submit) id 1", "mx.example.net", "8.17.1/8.17.1/Submit"},
		{"by mx (Postfix, from userid 0)", "mx", "from userid"},
		{"from a (a [1.2.3.4]) (Authenticated sender: bob) by mx with ESMTP", "mx", "Authenticated"},
		{"from userid.example by mx with ESMTPS", "mx", ""},
		{"from esmtpsa by mx with ESMTP", "mx", ""},
		{"from a (unauthenticated) by mx with HTTPS", "mx", ""},
		{"(qmail 1 invoked from network); date", "", ""},
		{"", "", ""}, {"by", "", ""}, {"by \xff with", "with", ""},
	} {
		by, login := readReceived(c.value)
		if strings.Join(by, " ") != c.by || login != c.login {
			t.Errorf("%q: by %q, login %q", c.value, by, login)
		}
	}
}

// FuzzReceived: nothing that stands before it in the field of the receiving server
// hides a login.
func FuzzReceived(f *testing.F) {
	for _, s := range []string{"", "from x", "from x (by y with SMTP", "from \" by z", "from (", "with", "by", "\u202e", "from x by y; with"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, before string) {
		by, login := readReceived(before + " by mx.example.net with ESMTPSA id 1")
		if login == "" || !slices.Contains(by, "mx.example.net") && !strings.HasSuffix(strings.TrimRight(before, " "), "by") {
			t.Fatalf("%q: by %q, login %q", before, by, login)
		}
		m := ownersMail()
		m.Headers = slices.Insert(m.Headers, 0, envelope.Field{Name: "Received", Value: before + " by mx.example.net with ESMTPSA id 1"})
		if id := Classify(m, testPolicy()); id.Reason != SubmittedWithLogin {
			t.Fatalf("%q: %s", before, id.Reason)
		}
	})
}

// FuzzMark: whatever stands beside it, a verified message carries a signature that
// could be good, and what that does not sign is told.
func FuzzMark(f *testing.F) {
	for _, s := range []string{"", "v=1; d=example.com; s=s1; h=from; bh=x; b=AbCdE", "v=1; d=example.org; s=x; h=to; bh=y; b=z", "v=1; l=0; d=example.com; s=s1; h=from:to; bh=x; b=AbCd", ";;", "b"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, other string, alone bool) {
		m := ownersMail()
		last := len(m.Headers) - 1
		if alone {
			m.Headers[last].Value = other
		} else {
			m.Headers = append(m.Headers, envelope.Field{Name: "DKIM-Signature", Value: other})
		}
		id := Classify(m, testPolicy())
		checkRoundTrip(t, &id)
		if !id.Verified {
			return
		}
		folded := strings.ToLower(other)
		if alone && !(strings.Contains(folded, "example.com") && strings.Contains(folded, "bh") && strings.Contains(folded, "from")) {
			t.Fatalf("%q verifies", other)
		}
		if alone && !strings.Contains(folded, "to") && !slices.Contains(id.Unsigned.Names(), "To") {
			t.Fatalf("%q signs To", other)
		}
	})
}
