package policy

import (
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/terms"
)

const senderRows = `owners = ["boss@example.com"]
allowed_external = ["@supplier.example"]
[matrix."@supplier.example"]
allow = ["write_local"]
[matrix.owner_verified_email]
allow = ["read_private"]
[matrix."Boss@example.com"]
allow = ["read_public", "external_send"]
tools.allow = ["web.*"]
[matrix]
"@example.com" = { queue_for_review = ["read_public"] }
"ann@supplier.example".require_owner_confirmation = ["destructive"]
`

// The row of an address stands before the row of its domain, and both before those of
// owner_verified_email and external_verified; every other level has its own row.
func TestRowOfASender(t *testing.T) {
	p, err := Parse("p", []byte(senderRows))
	if err != nil {
		t.Fatal(err)
	}
	const boss, ann, bob = "boss@EXAMPLE.com", "ann@supplier.example", "bob@supplier.example"
	for _, c := range []struct {
		trust   terms.Trust
		sender  string
		name    string
		action  terms.Action
		outcome terms.Outcome
	}{
		{terms.OwnerVerifiedEmail, boss, `"Boss@example.com"`, terms.ExternalSend, terms.Allow},
		{terms.OwnerVerifiedEmail, boss, `"Boss@example.com"`, terms.ReadPrivate, terms.Reject},
		{terms.OwnerVerifiedEmail, "me@other.example", "owner_verified_email", terms.ReadPrivate, terms.Allow},
		{terms.OwnerVerifiedEmail, "", "owner_verified_email", terms.ReadPrivate, terms.Allow},
		{terms.OwnerVerifiedEmail, "x@sub.example.com", "owner_verified_email", terms.ReadPrivate, terms.Allow},
		{terms.ExternalVerified, ann, `"ann@supplier.example"`, terms.Destructive, terms.Confirm},
		{terms.ExternalVerified, ann, `"ann@supplier.example"`, terms.WriteLocal, terms.Reject},
		{terms.ExternalVerified, bob, `"@supplier.example"`, terms.WriteLocal, terms.Allow},
		{terms.ExternalVerified, "al@example.com", `"@example.com"`, terms.ReadPublic, terms.Review},
		{terms.ExternalVerified, "telegram:7", "external_verified", terms.ReadPublic, terms.Allow},
		{terms.ApprovedSession, boss, "approved_session", terms.ReadPrivate, terms.Allow},
		{terms.OwnerClaim, boss, "owner_claim_unverified", terms.ExternalSend, terms.Reject},
		{terms.Unknown, bob, "unknown", terms.WriteLocal, terms.Reject},
		{terms.System, boss, "system", terms.Destructive, terms.Allow},
	} {
		row, name := p.Row(c.trust, c.sender)
		if got := row.Outcome(c.action); name != c.name || got != c.outcome {
			t.Errorf("%s, %s, %s: %s by %s, want %s by %s", c.trust, c.sender, c.action, got, name, c.outcome, c.name)
		}
	}
	var order []string
	for _, s := range p.Senders {
		order = append(order, s.Sender)
	}
	if got := strings.Join(order, " "); got != "@supplier.example Boss@example.com @example.com ann@supplier.example" {
		t.Errorf("not in the order of the file: %s", got)
	}
	if p.Senders[0].Tools != nil || len(p.Senders[1].Tools) != 1 {
		t.Errorf("%+v", p.Senders)
	}
}

func TestChatByDefault(t *testing.T) {
	p, err := Parse("p", []byte("[limits]\nkeep_refused = \"14d\"\n[[platform]]\nsource = \"t\"\n[[platform.chat]]\nid = 1\n"+
		"[[platform.chat]]\nid = 2\nrequire_mention = false\ntools.allow = []\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := p.Platforms[0].Chats
	if !c[0].RequireMention || c[0].Tools != nil || c[1].RequireMention || c[1].Tools == nil || p.Limits.KeepRefused != 14*24*time.Hour {
		t.Errorf("%+v, %+v", c, p.Limits)
	}
	if Default().Limits.KeepRefused != 0 {
		t.Error("refused mail is kept although the policy does not say so")
	}
}

func TestLine(t *testing.T) {
	p, err := Parse("p", []byte(senderRows+"[[receiver]]\nsource = \"a\"\nverdict = \"none\"\n[[receiver]]\nsource = \"b\"\nverdict = \"none\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key  string
		nth  int
		line int
	}{
		{"owners", 0, 1}, {"matrix.owner_verified_email", 0, 5}, {"matrix.owner_verified_email.allow", 0, 6},
		{`matrix."Boss@example.com".allow`, 0, 8}, {`matrix."Boss@example.com".tools.allow`, 0, 9},
		{"receiver", 0, 13}, {"receiver", 1, 16}, {"receiver", 2, 0}, {"receiver", -1, 0}, {"receiver.verdict", 1, 18}, {"recipients", 0, 0},
	} {
		if got := p.Line(c.key, c.nth); got != c.line {
			t.Errorf("%s, %d: %d, want %d", c.key, c.nth, got, c.line)
		}
	}
}
