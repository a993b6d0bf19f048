package identity

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
)

func TestReadReceived(t *testing.T) {
	for _, c := range []struct{ value, by, login string }{
		{"from a.example (a.example [192.0.2.1]) by mx.example.net with ESMTPS id 1", "mx.example.net", ""},
		{"by 2002:a05:6402:1234:b0:0:0:0 with SMTP id a12", "2002:a05:6402:1234:b0:0:0:0", ""},
		{"from a\r\n\tby mx.example.net.\r\n\t(Postfix) with\r\n\tESMTPSA id 1", "mx.example.net", "with ESMTPSA"},
		{"from a by [192.0.2.9] with asmtp", "192.0.2.9", "with asmtp"},
		{"from mx ([unix socket])\r\n\t by mx.example.net (Cyrus 3.6.1) with LMTPA; date", "mx.example.net", ""},
		{"from a by b with LMTPSA", "b", ""},
		{"from a by b with UTF8LMTPSA", "b", ""},
		{"from unknown (HELO a) (bob@1.2.3.4) by mx with (AES256-SHA encrypted) ESMTPSA; date", "mx", "with ESMTPSA"},
		{"from a ([1.2.3.4]) (AUTH: LOGIN bob, TLS: TLSv1.3) by mx with esmtp", "mx", "AUTH:"},
		{"from a (HELO b) (smtp-auth username bob, mechanism login) by mx with SMTP", "mx", "smtp-auth"},
		{"(qmail 1 invoked by uid 89); date", "", ""},
		{"by mx.example.net (8.17.1/8.17.1/Submit) id 1", "mx.example.net", "8.17.1/8.17.1/Submit"},
		{"by mx (Postfix, from userid 0)", "mx", "from userid"},
		{"from a (a [1.2.3.4]) (Authenticated sender: bob) by mx with ESMTP", "mx", "Authenticated"},
		{"from userid.example by mx with ESMTPS", "mx", ""},
		{"from esmtpsa by mx with ESMTP", "mx", ""},
		{"from a (unauthenticated) by mx with HTTPS", "mx", ""},
		{"(qmail 1 invoked from network); date", "", ""},
		{"", "", ""}, {"by", "", ""}, {"by \xff with", "with", ""},
	} {
		by, login := readReceived(nil, c.value)
		if strings.Join(by, " ") != c.by || login != c.login {
			t.Errorf("%q: by %q, login %q", c.value, by, login)
		}
	}
}

// "Received: (qmail 1 invoked by uid 89)" names no host, so the receiver's own fields
// do not end there.
func TestPostedBelowQmail(t *testing.T) {
	m := ownersMail()
	m.Headers = slices.Insert(m.Headers, 0,
		envelope.Field{Name: "Received", Value: "(qmail 3 invoked by uid 1011); date"},
		envelope.Field{Name: "Received", Value: "(qmail 2 invoked by alias); date"},
		envelope.Field{Name: "Received", Value: "from unknown (HELO x) (bob@192.0.2.5)\r\n  by mx.example.net with ESMTPA; date"})
	if id := Classify(m, testPolicy()); id.Reason != submittedWithLogin {
		t.Fatal(id.Reason)
	}
}

// Cyrus logs in to itself to deliver.
func TestDeliveredByCyrus(t *testing.T) {
	m := ownersMail()
	m.Headers = slices.Insert(m.Headers, 0, envelope.Field{Name: "Received",
		Value: "from mx.example.net ([unix socket])\r\n\t by mx.example.net (Cyrus 3.6.1-Debian-3.6.1-4) with LMTPA;\r\n\t Sat, 21 Nov 2026 06:55:00 +0000"})
	if id := Classify(m, testPolicy()); !id.Verified {
		t.Fatal(id.Why)
	}
}

// FuzzReceived: no text before a login in the receiving server's field hides it.
func FuzzReceived(f *testing.F) {
	for _, s := range []string{"", "from x", "from x (by y with SMTP", "from \" by z", "from (", "with", "by", "\u202e", "from x by y; with"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, before string) {
		by, login := readReceived(nil, before+" by mx.example.net with ESMTPSA id 1")
		if login == "" || !slices.Contains(by, "mx.example.net") && !strings.HasSuffix(strings.TrimRight(before, " "), "by") {
			t.Fatalf("%q: by %q, login %q", before, by, login)
		}
		m := ownersMail()
		m.Headers = slices.Insert(m.Headers, 0, envelope.Field{Name: "Received", Value: before + " by mx.example.net with ESMTPSA id 1"})
		if id := Classify(m, testPolicy()); id.Reason != submittedWithLogin {
			t.Fatalf("%q: %s", before, id.Reason)
		}
	})
}

// FuzzDKIMField: whatever other fields are there, a verified message carries a signature
// that could be good, and identity.unsigned says what it does not cover.
func FuzzDKIMField(f *testing.F) {
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
