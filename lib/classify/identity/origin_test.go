package identity

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// TestForgedOrigins tries all combinations of what a forged record may hold. With a message
// its identity is that of the message, and without one it is never more than what it
// says, and only where a request and via say that it is an effect or was submitted.
func TestForgedOrigins(t *testing.T) {
	p, handedOn := testPolicy(), 0
	for _, trust := range terms.TrustLevels {
		for _, via := range []string{"", `,"via":"agent","parent":"x"`, `,"via":"submit"`} {
			for _, sender := range []string{"me@example.com", "x@supplier.example", "x@evil.example", "uid:0", ""} {
				for _, rest := range []string{"", `,"request":{}`, `,"task":{}`, `,"request":{},"task":{}`} {
					given := fmt.Sprintf(`{"identity":{"sender":%q,"trust":%q,"verified":true%s,"stale":false,"automatic":false}%s`, sender, trust, via, rest)
					if id, err := classified(t, given+`,"message":{}}`, p); err != nil || id.Trust != terms.Unknown || id.Via != ViaMessage || id.Verified {
						t.Fatalf("%s with a message: %+v, %v", given, id, err)
					}
					id, err := classified(t, given+"}", p)
					if want := via != "" && strings.Contains(rest, "request"); want != (err == nil) {
						t.Fatalf("%s: %v", given, err)
					}
					if err != nil {
						continue
					}
					handedOn++
					if slices.Index(terms.TrustLevels, id.Trust) > slices.Index(terms.TrustLevels, trust) ||
						(id.Trust == terms.OwnerVerifiedEmail || id.Trust == terms.ApprovedSession) && sender != "me@example.com" {
						t.Fatalf("%s: %+v", given, id)
					}
				}
			}
		}
	}
	if handedOn == 0 {
		t.Error("nothing was handed on")
	}
}

// TestOriginIsReused: nothing of a record shows in the identity of the next one.
func TestOriginIsReused(t *testing.T) {
	p := testPolicy()
	var lines []string
	for _, field := range []envelope.Field{
		{Name: "X-Nothing", Value: "more"},
		{Name: "Authentication-Results", Value: "mx.example.com; none"},
		{Name: "List-Id", Value: "<news.example.com>"},
		{Name: "Authentication-Results", Value: "mx.example.com; dkim=fail header.d=example.com; dkim=pass; spf=fail"},
		{Name: "From", Value: "you@example.com"},
		{Name: "DKIM-Signature", Value: "v=1; d=example.com; l=1"},
	} {
		m := ownersMail()
		lines = append(lines, `{"message":`+string(m.Append(nil))+`}`)
		m.Headers = append([]envelope.Field{field}, m.Headers...)
		lines = append(lines, `{"message":`+string(m.Append(nil))+`}`)
	}
	var o Origin
	for _, line := range lines {
		want, err := classified(t, line, p)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := record.Parse([]byte(line), OriginMembers...)
		if err == nil {
			err = o.Read(rec)
		}
		if id := o.Classify(p); err != nil || !reflect.DeepEqual(id, want) {
			t.Fatalf("%s:\n%+v, want %+v, %v", line, id, want, err)
		}
	}
}

// classified is what pulse-classify makes of a line.
func classified(t *testing.T, text string, p *policy.Policy) (id Identity, err error) {
	t.Helper()
	rec, err := record.Parse([]byte(text), OriginMembers...)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ReadOrigin(rec)
	if err == nil {
		id = o.Classify(p)
	}
	return id, err
}
