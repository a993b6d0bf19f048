package queue

import (
	"testing"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/envelope"
)

// TestMailIDs: the signed fields name a mail only where they prove its sender, and
// then its Message-ID alone does not.
func TestMailIDs(t *testing.T) {
	mail := func(verified bool, sender, messageID, signed string) string {
		t.Helper()
		c := Content{
			Message:  &envelope.Message{ID: messageID},
			Identity: identity.Identity{Verified: verified, Sender: sender, Signed: signed},
		}
		id, err := c.ID()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	genuine := mail(true, "me@example.com", "<1@example.com>", "sha256:aa")
	if got := mail(true, "Me@Example.com", "<1@EXAMPLE.com>", "sha256:aa"); got != genuine {
		t.Errorf("respaced and in another case: %s, want %s", got, genuine)
	}
	for name, other := range map[string]string{
		"other fields":              mail(true, "me@example.com", "<1@example.com>", "sha256:bb"),
		"other sender":              mail(true, "you@example.com", "<1@example.com>", "sha256:aa"),
		"by the receiver's word":    mail(true, "me@example.com", "<1@example.com>", ""),
		"forged":                    mail(false, "me@example.com", "<1@example.com>", "sha256:aa"),
		"a Message-ID as a digest":  mail(true, "me@example.com", "sha256:aa", ""),
		"forged, Message-ID digest": mail(false, "me@example.com", "sha256:aa", ""),
	} {
		if other == genuine {
			t.Errorf("%s: the same task", name)
		}
	}
	if mail(false, "me@example.com", "<1@example.com>", "sha256:aa") != mail(false, "me@example.com", "<1@example.com>", "") {
		t.Error("what nobody proved goes by its Message-ID")
	}
}
