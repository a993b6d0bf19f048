package identity

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
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
