package dkimcheck

import (
	"context"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
)

func roundTrip(t testing.TB, m *envelope.Message) *envelope.DKIM {
	t.Helper()
	line := append(m.Append([]byte(`{"message":`)), '}')
	rec, err := record.Parse(line, envelope.Member)
	if err != nil {
		t.Fatal(err)
	}
	var again envelope.Message
	if err := again.Read(rec); err != nil {
		t.Fatal(err)
	}
	return again.DKIM
}

// FuzzHeader: no text on top of a signed message verifies a sender who was not verified
// without it. The signature passes as it was, or not at all.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{"", "X: y\r\n", "DKIM-Signature: v=1; d=example.com; s=s1\r\n", "From: x\r\n", " x\r\n", "\r\n", "From x\r\n", "\u017fubject: x\r\n"} {
		f.Add(s)
	}
	good := signer().sign(strings.Replace(mail, "Me <", "Original <", 1))
	z := world()
	f.Fuzz(func(t *testing.T, top string) {
		m, raw := fetched(top + good)
		c := Checker{Resolver: z}
		d, err := c.Check(context.Background(), m, raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range d.Signatures {
			if s.Result != envelope.DKIMPass {
				continue
			}
			for _, field := range m.Headers {
				if strings.Trim(strings.ToLower(field.Name), " \t") == "from" && field.Value != "Original <me@example.com>" {
					t.Fatalf("%q", m.Headers)
				}
			}
		}
		m.DKIM = d
		roundTrip(t, m)
	})
}

// FuzzKey: no key record makes a signature pass that is not by that key.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"v=DKIM1; p=" + pkix(newRSA(1024)), "p=", "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "t=y:s; p=AAAA"} {
		f.Add(s)
	}
	text := signer().sign(mail)
	pub := pkix(rsaKey())
	f.Fuzz(func(t *testing.T, record string) {
		z := world()
		key(record)(z)
		if verify(t, z, text).Signatures[0].Result == envelope.DKIMPass && !strings.Contains(record, pub[:40]) {
			t.Fatalf("%q", record)
		}
	})
}
