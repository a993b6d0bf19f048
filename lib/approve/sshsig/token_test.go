package sshsig

import (
	"errors"
	"testing"

	"pulse/lib/approve/sshsig/sshsigtest"
)

// TestToken: the key of a FIDO token signs through ssh-keygen and its provider, and is
// good for the text that it signed and for no other.
func TestToken(t *testing.T) {
	k := newKeys(t)
	provider := sshsigtest.Provider(t)
	t.Setenv("SSH_SK_PROVIDER", provider)
	sshsigtest.Key(t, provider, k.path("id"))
	k.write("allowed_signers", `me@example.com namespaces="pulse-approve" `+Public(k.path("id"))+"\n")
	if err := k.signers.Usable(); err != nil {
		t.Error(err)
	}
	armor := k.sign("id", message)
	who, err := k.signers.Principal(t.Context(), armor)
	if err != nil || who != "me@example.com" {
		t.Errorf("%q, %v", who, err)
	}
	if err := k.signers.Verify(t.Context(), who, armor, []byte(message)); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"other bytes":   k.signers.Verify(t.Context(), who, armor, []byte(message+"\n")),
		"a flipped bit": k.signers.Verify(t.Context(), who, flip(armor), []byte(message)),
	} {
		if !errors.Is(err, ErrBad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
