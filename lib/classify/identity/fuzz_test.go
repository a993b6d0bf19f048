package identity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/address"
	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// FuzzClassify: whatever other fields are there, a message is verified only if the
// very first Authentication-Results field begins with the pinned id, and the sender
// stands in the only From.
func FuzzClassify(f *testing.F) {
	good, signature := ownersMail().Headers[0].Value, ownersMail().Headers[7]
	if id := Classify(ownersMail(), testPolicy()); signature.Name != "DKIM-Signature" || !id.Verified {
		f.Fatal("no message would be verified")
	}
	f.Add("Authentication-Results", good, "From", "Me <me@example.com>", "", "", good)
	f.Add("Authentication-Results ", good, "From", "me@example.com", "From ", "x@example.com", good)
	f.Add("X", "mx.example.net; dmarc=pass", "FROM", "me@example.com", "Authentication-Results", "mx.example.org; dmarc=pass", good)
	f.Add("Auto-Submitted", "no", "Date", "", "To", "a@b, c", "mx.example.net; none")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2, name3, value3, last string) {
		m := &envelope.Message{Headers: []envelope.Field{
			{Name: name1, Value: value1}, {Name: name2, Value: value2}, {Name: name3, Value: value3},
			{Name: "Authentication-Results", Value: last}, signature, {Name: "From", Value: "me@example.com"},
		}}
		id := Classify(m, testPolicy())
		checkRoundTrip(t, &id)
		if !id.Verified {
			if id.Trust == terms.OwnerVerifiedEmail || id.Trust == terms.ExternalVerified {
				t.Fatalf("%+v", id)
			}
			return
		}
		if id.Sender != "me@example.com" || len(from(m)) != 1 {
			t.Fatalf("%q are From, verified is %s", from(m), id.Sender)
		}
		if first := firstResults(m); !strings.Contains(first, "mx.example.net") || !strings.Contains(address.Fold(first), "dmarc") {
			t.Fatalf("verified by %q", first)
		}
	})
}

// from and firstResults read naively; the fuzzer compares Classify with them.
func from(m *envelope.Message) (values []string) {
	for name, value := range m.Fields {
		if sameName(name, "from") {
			values = append(values, value)
		}
	}
	return values
}

func firstResults(m *envelope.Message) string {
	for name, value := range m.Fields {
		if sameName(name, "authentication-results") {
			return value
		}
	}
	return ""
}

// sameName compares without case, and without what surrounds a name.
func sameName(name, want string) bool {
	name = strings.TrimFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
	return address.Equal(name, want)
}

func checkRoundTrip(t *testing.T, id *Identity) {
	t.Helper()
	rec, err := record.Parse(slices.Concat([]byte(`{"identity":`), id.Append(nil), []byte("}")), Member)
	if err != nil {
		t.Fatal(err)
	}
	err = rec.Decode(Member, func(v record.Value) error {
		back, err := Decode(v)
		if back.Sender != id.Sender || back.Trust != id.Trust || back.Verified != id.Verified || back.Reason != id.Reason {
			t.Fatalf("%+v came back as %+v", *id, back)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzKinds: whatever stands among the fields that a receiver writes, in whatever order,
// a message is verified only by fields that begin with a pinned name, by one dmarc=pass in
// all of them, and with a signature of From's domain. Rule M asks for its layout besides.
func FuzzKinds(f *testing.F) {
	for kind := range shapes {
		s := &shapes[kind]
		whole := s.above + sent + s.below
		f.Add(uint8(kind), whole, uint8(0))
		f.Add(uint8(kind), s.own()+whole, uint8(1))
		f.Add(uint8(kind), whole+s.own(), uint8(7))
		f.Add(uint8(kind), strangers(s.above)+s.own()+sent+s.below, uint8(3))
	}
	f.Fuzz(func(t *testing.T, kind uint8, header string, turn uint8) {
		s := &shapes[int(kind)%len(shapes)]
		m := headed(header)
		if n := len(m.Headers); n > 0 { // every rotation of the fields is tried too
			k := int(turn) % n
			m.Headers = append(slices.Clone(m.Headers[k:]), m.Headers[:k]...)
		}
		p := s.policy()
		id := Classify(m, p)
		checkRoundTrip(t, &id)
		p.Evidence = policy.ByEither
		if needs := NeedsDKIM(m, p); needs && id.Verified || !needs && Classify(m, p).Verified != id.Verified {
			t.Fatalf("needs its own check: %v, verified by authres: %v", needs, id.Verified)
		}
		if id.Verified {
			s.holds(t, m, id.Sender)
		}
	})
}

// holds reads naively what must be true of a verified message.
func (s *shape) holds(t *testing.T, m *envelope.Message, sender string) {
	t.Helper()
	_, domain, _ := strings.Cut(address.Fold(sender), "@")
	pinned, passes, signed := 0, 0, false
	for name, value := range m.Fields {
		low := address.Fold(value)
		switch {
		case sameName(name, "dkim-signature"):
			signed = signed || strings.Contains(low, domain)
		case !sameName(name, "authentication-results"):
		case s.verdict == policy.ByMicrosoft || slices.ContainsFunc(s.ids, func(id string) bool { return strings.Contains(value, strings.TrimPrefix(id, "*")) }):
			pinned++
			if strings.Contains(low, "dmarc") && strings.Contains(low, "pass") {
				passes++
			}
		}
	}
	if pinned == 0 || passes == 0 || !signed || s.verdict == policy.ByMicrosoft && pinned != 1 {
		t.Fatalf("%s: %d pinned, %d with dmarc and pass, signed %v", s.name, pinned, passes, signed)
	}
	if s.verdict == policy.ByMicrosoft && !strings.Contains(fmt.Sprint(m.Headers), ".mail.protection.outlook.com") {
		t.Fatal("no host of Microsoft took it")
	}
}

// TestKindsAreLinear: a header block of the most that pulse-fetch takes, made to be slow,
// takes milliseconds under every kind. Quadratic work would take minutes.
func TestKindsAreLinear(t *testing.T) {
	for i := range shapes {
		s := &shapes[i]
		for name, unit := range map[string]string{
			"own fields": s.own(), "signatures": strings.SplitAfterN(sent, "\n", 2)[0], "results": "Authentication-Results: " + strings.Repeat("dkim=pass;", 50) + "\n",
			"bare results": "Authentication-Results: " + strings.Join(s.ids, "") + strings.Repeat("; dkim=pass", 90) + "\n",
			"received":     received, "organization": microsoftBelowMail,
		} {
			m := headed(strings.Repeat(unit, 256<<10/len(unit)))
			m.Headers = append(m.Headers, s.mail().Headers...)
			start := cmdlinetest.Computed(t)
			Classify(m, s.policy())
			if d := cmdlinetest.Computed(t) - start; d > 20*time.Second {
				t.Errorf("%s: %s: %v", s.name, name, d)
			}
		}
	}
}
