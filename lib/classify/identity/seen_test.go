package identity_test

import (
	"strings"
	"testing"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// TestSeen: only what the proof of a mail covers says who has seen it.
func TestSeen(t *testing.T) {
	proven := `"sender":"Me@example.com","trust":"owner_verified_email","verified":true`
	for name, c := range map[string]struct {
		id, header, want string
	}{
		"a mail":           {proven, "To: Ann <ann@x.example>, bob@x.example\nCc: cy@x.example", "ann@x.example, bob@x.example, cy@x.example, me@example.com"},
		"To not signed":    {proven + `,"unsigned":["To"]`, "To: ann@x.example\nCc: cy@x.example", "cy@x.example, me@example.com"},
		"Cc not signed":    {proven + `,"unsigned":["Date","Cc"]`, "To: ann@x.example\nCc: cy@x.example", "ann@x.example, me@example.com"},
		"two To":           {proven, "To: ann@x.example\nTo: bob@x.example", "me@example.com"},
		"an odd name":      {proven, "To : ann@x.example", "me@example.com"},
		"a group":          {proven, "To: all: ann@x.example, bob@x.example;\nCc: cy@x.example", "cy@x.example, me@example.com"},
		"no address":       {proven, "To: ann@x.example, you", "me@example.com"},
		"a route":          {proven, "To: eve%evil.example@x.example", "me@example.com"},
		"neither":          {proven, "Bcc: ann@x.example", "me@example.com"},
		"not proven":       {`"sender":"me@example.com","trust":"owner_claim_unverified","verified":false`, "To: ann@x.example", "nobody"},
		"nothing is said":  {`"sender":"me@example.com","trust":"owner_verified_email"`, "To: ann@x.example", "nobody"},
		"a chat":           {`"sender":"telegram:42","trust":"owner_verified_email","verified":true`, "To: ann@x.example", "nobody"},
		"a webhook":        {`"sender":"me@example.com","trust":"owner_verified_email","verified":true`, "webhook", "nobody"},
		"an effect":        {proven + `,"via":"agent","parent":"p","audience":["ann@x.example"]`, "To: ann@x.example", "nobody"},
		"submitted":        {`"sender":"me","trust":"system","verified":true,"via":"submit"`, "", "anyone"},
		"not by system":    {`"sender":"me","trust":"owner_verified_email","verified":true,"via":"submit"`, "", "nobody"},
		"mail by system":   {`"sender":"me","trust":"system","verified":true`, "To: ann@x.example", "nobody"},
		"no mail, no via":  {proven, "", "nobody"},
		"submitted a mail": {`"sender":"me@example.com","trust":"system","verified":true,"via":"submit"`, "To: ann@x.example", "nobody"},
	} {
		id, err := identity.Decode(record.Value("{" + c.id + "}"))
		if err != nil {
			t.Fatal(name, err)
		}
		var m *envelope.Message
		if c.header != "" {
			m = &envelope.Message{Source: "maildir:m"}
			for line := range strings.Lines(c.header) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
				m.Headers = append(m.Headers, envelope.Field{Name: name, Value: strings.TrimSpace(value)})
			}
		}
		switch name {
		case "a chat":
			m.Sender = &envelope.Sender{ID: peer.ID("42")}
		case "a webhook":
			m.Source, m.Headers = "webhook:ci", []envelope.Field{{Name: "To", Value: "ann@x.example"}}
		}
		if got := id.Seen(m).String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if id.Trust == terms.Unknown && c.want != "nobody" {
			t.Errorf("%s: %s", name, c.want)
		}
	}
}
