package decision

import (
	"testing"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

const rows = `owners = ["boss@example.com", "me@example.com"]
allowed_external = ["@supplier.example"]
[tools]
profile = "full"
[matrix."boss@example.com"]
allow = ["read_public", "external_send", "write_local"]
tools.allow = ["web.*", "mail.draft"]
[matrix."@supplier.example"]
require_owner_confirmation = ["read_public"]
[matrix.approved_session]
allow = ["read_public", "write_local"]
[[platform]]
source = "telegram"
owner_ids = [7]
[[platform.chat]]
id = -100
tools.allow = ["web.search"]
[[platform.chat]]
id = -200
`

func parsed(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("p", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The row of a sender decides on asks and effects of that sender, at the two levels whose
// rows it stands in for, and the rule names it.
func TestRowOfTheSender(t *testing.T) {
	p := parsed(t, rows)
	for _, c := range []struct {
		sender string
		trust  terms.Trust
		via    identity.Via
		action terms.Action
		want   terms.Outcome
		rule   string
	}{
		{"BOSS@example.com", terms.OwnerVerifiedEmail, "", terms.ExternalSend, terms.Allow, `matrix."boss@example.com".allow`},
		{"boss@example.com", terms.OwnerVerifiedEmail, "", terms.Destructive, terms.Reject, `matrix."boss@example.com".reject`},
		{"boss@example.com", terms.OwnerVerifiedEmail, identity.ViaAgent, terms.WriteLocal, terms.Allow, `matrix."boss@example.com".allow`},
		{"boss@example.com", terms.OwnerVerifiedEmail, identity.ViaAgent, terms.ExternalSend, terms.Confirm, "effect.external_send"},
		{"boss@example.com", terms.OwnerVerifiedEmail, identity.ViaAgent, terms.ReadPrivate, terms.Reject, `matrix."boss@example.com".reject`},
		{"me@example.com", terms.OwnerVerifiedEmail, "", terms.Destructive, terms.Confirm, "matrix.owner_verified_email.require_owner_confirmation"},
		{"a@supplier.example", terms.ExternalVerified, "", terms.ReadPublic, terms.Confirm, `matrix."@supplier.example".require_owner_confirmation`},
		{"boss@example.com", terms.ApprovedSession, "", terms.ReadPublic, terms.Allow, "matrix.approved_session.allow"},
		{"boss@example.com", terms.OwnerClaim, "", terms.ReadPublic, terms.Reject, "matrix.owner_claim_unverified.reject"},
		{"a@supplier.example", terms.Unknown, "", terms.ReadPublic, terms.Reject, "matrix.unknown.reject"},
		{"boss@example.com", terms.System, "", terms.Destructive, terms.Allow, "matrix.system.allow"},
	} {
		who := identity.Identity{Sender: c.sender, Trust: c.trust, Via: c.via}
		in := Input{Identity: &who, Policy: p, Request: &request.Request{Action: c.action, Target: []string{"x@y.example"}}}
		if d := Decide(in); d.Outcome != c.want || d.Rule != c.rule {
			t.Errorf("%s %s %s %s: %s by %s", c.sender, c.trust, c.via, c.action, d.Outcome, d.Rule)
		}
		if d := Again(in, c.action); d.Outcome != c.want || d.Rule != c.rule {
			t.Errorf("again, %s %s %s %s: %s by %s", c.sender, c.trust, c.via, c.action, d.Outcome, d.Rule)
		}
	}
}

// What could not be checked goes to a person only if its sender's row has the action.
func TestUncheckedBySenderRow(t *testing.T) {
	p := parsed(t, rows)
	for action, want := range map[terms.Action]terms.Outcome{terms.WriteLocal: terms.Review, terms.Destructive: terms.Reject} {
		who := identity.Identity{Sender: "boss@example.com", Trust: terms.OwnerClaim, Reason: identity.SignatureTempError}
		if d := Decide(Input{Identity: &who, Policy: p, Request: &request.Request{Action: action}}); d.Outcome != want {
			t.Errorf("%s: %+v", action, d)
		}
	}
}

// The tools of a sender and of a chat narrow what the policy allows to effects that began
// there.
func TestToolsOfSenderAndChat(t *testing.T) {
	p := parsed(t, rows)
	const boss, chat = `matrix."boss@example.com".tools.allow`, "platform.chat.tools.allow"
	for _, c := range []struct {
		sender string
		trust  terms.Trust
		chat   peer.ID
		tool   string
		rule   string // empty: it may be used
	}{
		{"boss@example.com", terms.OwnerVerifiedEmail, "", "web.fetch", ""},
		{"Boss@example.com", terms.OwnerVerifiedEmail, "", "calendar.read", boss},
		{"boss@example.com", terms.ApprovedSession, "", "calendar.read", boss},
		{"boss@example.com", terms.System, "", "task.note", ""},
		{"me@example.com", terms.System, "", "calendar.read", ""},
		{"telegram:7", terms.System, "-100", "web.search", ""},
		{"telegram:7", terms.System, "-100", "web.fetch", chat},
		{"telegram:7", terms.System, "-100", "task.close", ""},
		{"telegram:7", terms.System, "-200", "web.fetch", ""},
		{"telegram:7", terms.System, "", "web.fetch", ""},
		{"matrix:7", terms.System, "-100", "web.fetch", ""},
	} {
		who := identity.Identity{Sender: c.sender, Trust: c.trust, Via: identity.ViaAgent, Chat: c.chat}
		d := Decide(Input{Identity: &who, Policy: p, Request: &request.Request{Action: terms.WriteLocal, Tool: c.tool}})
		if by := d.Reason == "tool_not_allowed"; by != (c.rule != "") || by && (d.Rule != c.rule || d.Outcome != terms.Reject) {
			t.Errorf("%s %s in %s, %s: %+v, want %s", c.sender, c.trust, c.chat, c.tool, d, c.rule)
		}
	}
}
