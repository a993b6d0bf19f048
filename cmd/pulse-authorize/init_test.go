package main

import (
	"strings"
	"testing"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/policy"
)

// Whatever is known of a receiver, the policy that init prints is valid and does
// what the preset says: it pins the one id, or nothing.
func TestPresets(t *testing.T) {
	for _, r := range receivers.All() {
		text := strings.NewReplacer("@OWNER@", "me@example.com", "@PIN@", pinLines(&r)).Replace(template)
		p, err := policy.Parse(r.Name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if own, _ := p.Receiver("imaps://me@imap.example.com/INBOX"); strings.Join(own.AuthservIDs, " ") != r.AuthservID {
			t.Errorf("%s: pins %q, want %q", r.Name, own.AuthservIDs, r.AuthservID)
		}
		if (p.Evidence == policy.ByDKIM) != (r.Unpinnable != "") {
			t.Errorf("%s: evidence %s, and unpinnable %q", r.Name, p.Evidence, r.Unpinnable)
		}
	}
}
