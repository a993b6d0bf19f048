package identity

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/envelope"
	"pulse/lib/policy"
)

// fields makes a message of lines "Name: value".
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
	return h.signed()
}

// TestSignedDigest: what a signature in relaxed canonicalization lets pass makes no
// difference, and everything else does.
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
	for i, name := range []string{"From", "To", "Subject", "Date", "Message-ID"} {
		if got := Uncovered(m, slices.Delete(slices.Clone(all), i, i+1)); got != name {
			t.Errorf("%s, want %s", got, name)
		}
	}
	m.Headers = append(m.Headers, envelope.Field{Name: "cc", Value: "x@example.org"})
	if got := Uncovered(m, all); got != "Cc" {
		t.Errorf("%s, want Cc", got)
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

// TestSignedMember: the digest stands for a proof by our own check; under the
// receiver's word alone ids stay what they are whether or not somebody verified.
func TestSignedMember(t *testing.T) {
	for evidence, want := range map[string]bool{"authres": false, "dkim": true, "both": true} {
		p, err := policy.Parse("p", []byte("authserv_id = \"mx.example.net\"\nowners = [\"me@example.com\"]\nevidence = \""+evidence+"\"\n"))
		if err != nil {
			t.Fatal(err)
		}
		m := fields(append(slices.Clone(signedFields),
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
