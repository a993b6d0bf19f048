package identity

import (
	"testing"
	"time"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

const platformPolicy = `
owners = ["me@example.com"]
[[platform]]
source      = "telegram"
owner_ids   = [7]
allowed_ids = [8]
[[platform.chat]]
id = -100
[[platform.chat]]
id = -200
require_mention = false
open_group = true
[[platform.chat]]
id = -300
enabled = false
open_group = true
[[platform.chat]]
id = -400
require_mention = false
allowed_senders = [9]
`

func TestPlatform(t *testing.T) {
	p, err := policy.Parse("p", []byte(platformPolicy))
	if err != nil {
		t.Fatal(err)
	}
	const unknown, external, owner = terms.Unknown, terms.ExternalVerified, terms.OwnerVerifiedEmail
	for _, c := range []struct {
		name   string
		sender *envelope.Sender
		trust  terms.Trust
		reason Reason
	}{
		{"owner alone", &envelope.Sender{ID: "7"}, owner, AuthenticatedOwner},
		{"owner, private chat with the same number", &envelope.Sender{ID: "7", Chat: "7"}, owner, AuthenticatedOwner},
		{"owner, disabled chat", &envelope.Sender{ID: "7", Chat: "-300"}, owner, AuthenticatedOwner},
		{"owner, not mentioned", &envelope.Sender{ID: "7", Chat: "-100"}, owner, AuthenticatedOwner},
		{"bot with the owner's number", &envelope.Sender{ID: "7", Bot: true}, unknown, platformBot},
		{"listed", &envelope.Sender{ID: "8"}, external, authenticatedExternal},
		{"listed, not mentioned", &envelope.Sender{ID: "8", Chat: "-100"}, unknown, platformNotMentioned},
		{"listed, mentioned", &envelope.Sender{ID: "8", Chat: "-100", Mentioned: true}, external, authenticatedExternal},
		{"listed, chat switched off", &envelope.Sender{ID: "8", Chat: "-300"}, unknown, platformChat},
		{"listed, chat unknown", &envelope.Sender{ID: "8", Chat: "-999"}, unknown, platformChat},
		{"stranger", &envelope.Sender{ID: "10"}, unknown, authenticatedUnlisted},
		{"stranger, mentions", &envelope.Sender{ID: "10", Chat: "-100", Mentioned: true}, unknown, authenticatedUnlisted},
		{"stranger, open group", &envelope.Sender{ID: "10", Chat: "-200"}, external, authenticatedExternal},
		{"stranger, listed in that chat", &envelope.Sender{ID: "9", Chat: "-400"}, external, authenticatedExternal},
		{"the same in private", &envelope.Sender{ID: "9"}, unknown, authenticatedUnlisted},
		{"no sender", nil, unknown, platformNoSender},
		{"number 0", &envelope.Sender{}, unknown, platformNoSender},
	} {
		now := time.Unix(1_800_000_000, 0)
		m := &envelope.Message{Source: "telegram", Sender: c.sender, Fetched: now, Received: now,
			Headers: []envelope.Field{{Name: "From", Value: "me@example.com"}}}
		id := Classify(m, p)
		if id.Trust != c.trust || id.Reason != c.reason || id.Stale {
			t.Errorf("%s: %s, %s, stale %v", c.name, id.Trust, id.Reason, id.Stale)
		}
		chat := peer.ID("")
		if s := c.sender; s != nil && s.Chat != s.ID {
			chat = s.Chat
		}
		if back, err := Decode(record.Value(id.Append(nil))); err != nil || id.Chat != chat || back.Chat != chat {
			t.Errorf("%s: chat %s, then %s, %v, want %s", c.name, id.Chat, back.Chat, err, chat)
		}
		m.Source = "telegram2"
		if id := Classify(m, p); id.Verified {
			t.Errorf("%s: verified on a source that is no platform", c.name)
		}
	}
}

func TestPlatformStaleAndCap(t *testing.T) {
	p, err := policy.Parse("p", []byte(platformPolicy))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	m := &envelope.Message{Source: "telegram", Sender: &envelope.Sender{ID: "7"}, Fetched: now, Received: now.Add(-49 * time.Hour)}
	id := Classify(m, p)
	if !id.Stale || id.Sender != "telegram:7" {
		t.Errorf("%+v", id)
	}
	kept := id
	kept.Cap(p)
	if kept.Trust != terms.OwnerVerifiedEmail {
		t.Errorf("Cap under the same policy: %s", kept.Trust)
	}
	p.Platforms[0].OwnerIDs = nil
	if id.Cap(p); id.Trust != terms.Unknown {
		t.Errorf("Cap without the owner: %s", id.Trust)
	}
}

// A sender who was trusted in one chat keeps that trust as long as this chat grants it.
func TestCapInAChat(t *testing.T) {
	p, err := policy.Parse("p", []byte(platformPolicy))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sender string
		chat   peer.ID
		want   terms.Trust
	}{
		{"telegram:7", "-999", terms.OwnerVerifiedEmail},
		{"telegram:8", "-100", terms.ExternalVerified},
		{"telegram:8", "-300", terms.Unknown},
		{"telegram:8", "-999", terms.Unknown},
		{"telegram:8", "", terms.ExternalVerified},
		{"telegram:9", "-400", terms.ExternalVerified},
		{"telegram:9", "-100", terms.Unknown},
		{"telegram:9", "", terms.ExternalVerified}, // of a record without a chat
		{"telegram:10", "-200", terms.ExternalVerified},
		{"telegram:10", "-100", terms.Unknown},
	} {
		trust := terms.ExternalVerified
		if c.sender == "telegram:7" {
			trust = terms.OwnerVerifiedEmail
		}
		id := Identity{Sender: c.sender, Trust: trust, Chat: c.chat}
		if id.Cap(p); id.Trust != c.want || id.Chat != c.chat {
			t.Errorf("%s in %s: %s", c.sender, c.chat, id.Trust)
		}
	}
}
