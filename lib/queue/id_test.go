package queue

import (
	"testing"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
)

// TestMailIDs: a proven mail is named after its Message-ID where that is signed, whatever
// proves it, and else after the fields that are.
func TestMailIDs(t *testing.T) {
	mail := func(verified bool, sender, messageID, signed string, covered bool) string {
		t.Helper()
		c := Content{
			Message:  &envelope.Message{ID: messageID},
			Identity: identity.Identity{Verified: verified, Sender: sender, Signed: signed},
		}
		if !covered {
			id, err := identity.Decode(record.Value(`{"trust":"unknown","unsigned":["Message-ID"]}`))
			if err != nil {
				t.Fatal(err)
			}
			c.Identity.Unsigned = id.Unsigned
		}
		id, err := c.ID()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	genuine := mail(true, "me@example.com", "<1@example.com>", "sha256:aa", true)
	for name, same := range map[string]string{
		"by the receiver's word": mail(true, "Me@Example.com", "<1@example.com>", "", true),
		"by another signature":   mail(true, "me@example.com", "<1@example.com>", "sha256:bb", true),
		"of an older pulse":      mail(true, "me@example.com", "<1@example.com>", "", false),
	} {
		if same != genuine {
			t.Errorf("%s: another task", name)
		}
	}
	loose := mail(true, "me@example.com", "<1@example.com>", "sha256:aa", false)
	if mail(true, "me@example.com", "<2@example.com>", "sha256:aa", false) != loose {
		t.Error("a Message-ID that is not signed names the mail")
	}
	if mail(true, "me@example.com", "<1 2@example.com>", "sha256:aa", true) != loose {
		t.Error("a Message-ID with a blank, which may become two, names the mail")
	}
	for name, other := range map[string]string{
		"not signed":                loose,
		"other sender":              mail(true, "you@example.com", "<1@example.com>", "sha256:aa", true),
		"other Message-ID":          mail(true, "me@example.com", "<2@example.com>", "sha256:aa", true),
		"forged":                    mail(false, "me@example.com", "<1@example.com>", "sha256:aa", true),
		"a Message-ID as a digest":  mail(true, "me@example.com", "sha256:aa", "", true),
		"forged, Message-ID digest": mail(false, "me@example.com", "sha256:aa", "", true),
	} {
		if other == genuine || name != "not signed" && other == loose {
			t.Errorf("%s: the same task", name)
		}
	}
}
