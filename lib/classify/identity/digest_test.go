package identity

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// fields returns a message with the header lines "Name: value".
func fields(lines ...string) *envelope.Message {
	m := &envelope.Message{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		m.Headers = append(m.Headers, envelope.Field{Name: name, Value: value})
	}
	return m
}

var signedFields = []string{
	"From: Me <me@example.com>", "To: agent@example.net", "Subject: one two", "Date: Sat, 21 Nov 2026 06:58:00 +0000", "Message-ID: <1@example.com>",
}

func digestOf(lines ...string) string {
	h := collect(fields(lines...))
	return h.signed(&proof{})
}

// TestSignedDigest: a change that relaxed canonicalization permits makes no difference
// to the digest, and every other change does.
func TestSignedDigest(t *testing.T) {
	want := digestOf(signedFields...)
	with := func(i int, line string) []string {
		list := slices.Clone(signedFields)
		list[i] = line
		return list
	}
	reversed := slices.Clone(signedFields)
	slices.Reverse(reversed)
	for name, lines := range map[string][]string{
		"unsigned field": append(slices.Clone(signedFields), "X-New: 1", "Reply-To: x@example.org", "DKIM-Signature: v=1"),
		"another order":  reversed,
		"folding":        with(2, "Subject: one\r\n\t two"),
		"blanks":         with(2, "Subject: \t one   two\t"),
		"name":           with(2, "SUBJECT: one two"),
	} {
		if got := digestOf(lines...); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for name, lines := range map[string][]string{
		"other value":     with(2, "Subject: one twp"),
		"case of a value": with(2, "Subject: One two"),
		"joined words":    with(2, "Subject: onetwo"),
		"no-break space":  with(2, "Subject: one\u00a0two"),
		"field moved":     with(2, "Cc: one two"),
		"field missing":   signedFields[:4],
		"field empty":     append(slices.Clone(signedFields), "Cc: "),
		"two in one":      with(2, "Subject: one two date:Sat, 21 Nov 2026 06:58:00 +0000"),
	} {
		if digestOf(lines...) == want {
			t.Errorf("%s: the same digest", name)
		}
	}
}

func TestUncovered(t *testing.T) {
	m := fields(signedFields...)
	all := []string{"from", "to", "subject", "date", "message-id"}
	if got := Uncovered(m, all); got != "" {
		t.Errorf("%s", got)
	}
	for i, name := range []string{"From", "", "Subject", "Date", ""} {
		if got := Uncovered(m, slices.Delete(slices.Clone(all), i, i+1)); got != name {
			t.Errorf("%s, want %s", got, name)
		}
	}
}

// Every field in the message, except From, is unsigned unless h= names it. A field that
// is absent is not unsigned, except those about the body.
func TestUnsigned(t *testing.T) {
	h := collect(fields(signedFields...))
	for names, want := range map[string]string{
		"from:to:subject:date:message-id": "",
		"from":                            "To Subject Date Message-ID",
		"from:to:to:date:x":               "Subject Message-ID",
		"":                                "To Subject Date Message-ID",
	} {
		if got := h.unsigned(strings.Split(names, ":")) & mimeFields; got != mimeFields {
			t.Errorf("%s: %s", names, got.Names())
		}
		if got := strings.Join((h.unsigned(strings.Split(names, ":")) & otherFields).Names(), " "); got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
	h = collect(fields(append(slices.Clone(signedFields), "cc: x@example.org")...))
	if got := h.unsigned([]string{"from", "to", "subject", "date", "message-id", "content-type", "content-transfer-encoding", "content-disposition"}).Names(); len(got) != 1 || got[0] != "Cc" {
		t.Errorf("%s, want Cc", got)
	}
}

// TestNamesOfMail: a change that anyone can make when sending a mail on does not change
// its name, and two mails by one sender have two names, however little is signed.
func TestNamesOfMail(t *testing.T) {
	const results = "Authentication-Results: mx.example.net; dkim=pass header.d=example.com header.s=s1; dmarc=pass header.from=example.com"
	name := func(names, rest string, lines ...string) (Fields, string) {
		m := fields(append([]string{results, "DKIM-Signature: v=1; d=example.com; s=s1; h=" + names + "; b=AbCd; bh=" + rest}, lines...)...)
		m.Source = "mbox:x"
		id := Classify(m, testPolicy())
		if !id.Verified {
			t.Fatal(id.Why)
		}
		return id.Unsigned, id.Signed
	}
	with := func(i int, line string) []string {
		list := slices.Clone(signedFields)
		list[i] = line
		return list
	}
	if _, digest := name("from:to:subject:date:message-id", "Qq", signedFields...); digest != "" {
		t.Error("a Message-ID that is signed is the name")
	}
	const microsoft = "from:subject:date"
	_, want := name(microsoft, "Qq; t=1", signedFields...)
	for what, lines := range map[string][]string{
		"another To":         with(1, "To: mallory@example.net"),
		"another Message-ID": with(4, "Message-ID: <2@example.com>"),
		"no Message-ID":      signedFields[:4],
		"one more field":     append(slices.Clone(signedFields), "Cc: x@example.org"),
		"blanks":             with(2, "Subject:   one\r\n two"),
	} {
		if _, got := name(microsoft, "Q\r\n q; t=1", lines...); got != want || got == "" {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	for what, got := range map[string]func() (Fields, string){
		"another Subject":   func() (Fields, string) { return name(microsoft, "Qq; t=1", with(2, "Subject: three")...) },
		"another body":      func() (Fields, string) { return name(microsoft, "Qr; t=1", signedFields...) },
		"signed later":      func() (Fields, string) { return name("from", "Qq; t=2", signedFields...) },
		"only From, before": func() (Fields, string) { return name("from", "Qq; t=1", signedFields...) },
	} {
		if _, digest := got(); digest == want || digest == "" {
			t.Errorf("%s: the same name", what)
		}
	}
	if _, spaced := name("from:subject:date:message-id", "Qq", with(4, "Message-ID: <1 @example.com>")...); spaced == "" {
		t.Error("a Message-ID with a blank, which may become two, is the name")
	}
}

func TestAuthor(t *testing.T) {
	if domain, why := Author(fields(signedFields...)); domain != "example.com" || why != "" {
		t.Errorf("%s, %s", domain, why)
	}
	defective := fields(signedFields...)
	defective.Defects = []envelope.Defect{envelope.MalformedHeader}
	for name, m := range map[string]*envelope.Message{
		"no From":    fields(signedFields[1:]...),
		"two From":   fields(append(slices.Clone(signedFields), "From: x@example.org")...),
		"odd name":   fields(append(slices.Clone(signedFields), "Subject : x")...),
		"two Dates":  fields(append(slices.Clone(signedFields), "date: x")...),
		"group":      fields("From: g: me@example.com;"),
		"a defect":   defective,
		"two author": fields("From: a@example.com, b@example.com"),
	} {
		if domain, why := Author(m); domain != "" || why == "" {
			t.Errorf("%s: %s", name, domain)
		}
	}
}

// TestSignedMember: a proof by pulse's own check has the digest. Under the receiver's
// verdict alone a signed Message-ID is enough.
func TestSignedMember(t *testing.T) {
	for evidence, want := range map[string]bool{"authres": false, "dkim": true, "both": true, "either": false} {
		p, err := policy.Parse("p", []byte("authserv_id = \"mx.example.net\"\nowners = [\"me@example.com\"]\nevidence = \""+evidence+"\"\n"))
		if err != nil {
			t.Fatal(err)
		}
		m := fields(append(slices.Clone(signedFields),
			"DKIM-Signature: v=1; d=example.com; s=s1; h=from:to:subject:date:message-id; bh=AbCd; b=AbCdEf",
			"Authentication-Results: mx.example.net; dkim=pass header.d=example.com; dmarc=pass header.from=example.com")...)
		m.DKIM = &envelope.DKIM{From: "example.com", DMARC: envelope.DMARC{Result: envelope.DMARCFound}, Signatures: []envelope.Signature{
			{Result: envelope.DKIMPass, Domain: "example.com", Headers: []string{"from", "to", "subject", "date", "message-id"}},
		}}
		id := Classify(m, p)
		if !id.Verified || (id.Signed != "") != want {
			t.Errorf("%s: %+v", evidence, id)
		}
	}
}

// A receiver is silent about a signature beyond its limit or one that it can't read, so
// anyone who sends a mail on can add one that fits the verdict. Each addition made a new
// id, and the mail was run again.
func TestAddedSignatureMakesNoNewID(t *testing.T) {
	p := testPolicy()
	for _, genuine := range []string{
		"v=1; a=rsa-sha256; d=example.com; s=s1; t=1; h=from:to:cc:subject:date:message-id; bh=AbCd; b=AbCdEf",
		"v=1; a=rsa-sha256; d=example.com; s=s1; t=1; h=from:to:cc:subject:date; bh=AbCd; b=AbCdEf",
	} {
		m := ownersMail()
		last := len(m.Headers) - 1
		m.Headers[last].Value = genuine
		want := Classify(m, p)
		if !want.Verified {
			t.Fatal(want.Why)
		}
		for _, added := range []string{
			"v=1; d=example.com; s=s1; t=2; h=from:to:cc:subject:date; bh=x; b=AbCdX",
			"v=1; d=example.com; s=s1; t=1; h=from; bh=AbCd; b=AbCdX",
			"v=1; d=example.com; s=s1; t=3; h=from:to:cc:subject:date:message-id; bh=x; b=AbCdX",
		} {
			m.Headers = append(m.Headers[:last+1:last+1], envelope.Field{Name: "DKIM-Signature", Value: added})
			if id := Classify(m, p); id.Verified && id.Signed != want.Signed {
				t.Errorf("%s beside %s: %s", added, genuine, id.Signed)
			}
		}
	}
}

// Where no signature fits the verdict, the id was made of all signatures of that domain.
func TestAddedSignatureWhereNoneFits(t *testing.T) {
	m := ownersMail()
	m.Headers[0].Value = strings.Replace(m.Headers[0].Value, "header.b=AbCd", "header.b=ZzZz", 1)
	if id := Classify(m, testPolicy()); !id.Verified {
		t.Fatal(id.Why)
	}
	m.Headers = append(m.Headers, envelope.Field{Name: "DKIM-Signature", Value: "v=1; d=example.com; s=s1; t=2; h=from; bh=x; b=x"})
	if id := Classify(m, testPolicy()); id.Reason != dkimAmbiguous {
		t.Fatal(id.Reason)
	}
}

// An attacker could put bytes that base64 decoders overlook into b= of the genuine
// signature. Then header.b pointed to an added field, whose h= the attacker chose.
func TestAddedSignatureTakesNoPointer(t *testing.T) {
	for _, b := range []string{"!AbCdEf", "=AbCdEf", "A.bCdEf", "AbC-dEf", "(x)AbCdEf", "\"AbCdEf", "=", "AbCdE==="} {
		m := ownersMail()
		last := len(m.Headers) - 1
		m.Headers[last].Value = "v=1; a=rsa-sha256; d=example.com; s=s1; t=1; h=from:subject:date:message-id; bh=AbCd; b=" + b
		m.Headers = append(m.Headers, envelope.Field{Name: "DKIM-Signature", Value: "v=1; d=example.com; s=s1; h=from:to:cc:subject:date:message-id; bh=AbCd; b=AbCdX"})
		if id := Classify(m, testPolicy()); id.Verified {
			t.Errorf("b=%s: verified, unsigned %v", b, id.Unsigned.Names())
		}
	}
}

// A field that tells how a body reads, and that no signature names, may have been removed or
// changed. It is dropped where that can't have changed the text.
func TestSettle(t *testing.T) {
	for _, c := range []struct{ signed, head, want string }{
		{"from", "", "Content-Type"},
		{"from", "Content-Transfer-Encoding: base64", "Content-Type Content-Transfer-Encoding"},
		{"from", "Content-Disposition: attachment", "Content-Type Content-Disposition"},
		{"from", "Content-Type: text/html\nContent-Transfer-Encoding: 7bit", "Content-Type"},
		{"content-type", "", ""},
		{"content-type", "Content-Type: text/plain (a); charset=utf-8", ""},
		{"content-type", "Content-Type: multipart/mixed; boundary=b\nContent-Transfer-Encoding: 8bit", ""},
		{"content-type", "Content-Type: text/html", "Content-Transfer-Encoding"},
		{"content-type", "Content-Type: text/html\nContent-Transfer-Encoding: 7BIT", "Content-Transfer-Encoding"},
		{"content-type", "Content-Type: text/plain\nContent-Transfer-Encoding: quoted-printable", "Content-Transfer-Encoding"},
		{"content-type:content-transfer-encoding", "Content-Type: text/html", ""},
	} {
		var lines []string
		if c.head != "" {
			lines = strings.Split(c.head, "\n")
		}
		e := evidence{header: collect(fields(lines...))}
		e.proof.unsigned = e.header.unsigned(strings.Split(c.signed, ":"))
		e.settle()
		if got := strings.Join(e.proof.unsigned.Names(), " "); got != c.want {
			t.Errorf("%s: %q: %q, want %q", c.signed, c.head, got, c.want)
		}
	}
}
