package sshsig

import (
	"errors"
	"os"
	"os/exec"
	"strings"
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

// TestUntouched: a token signs without a touch for any program that asks so, and says so
// in what it signed. ssh-keygen -Y verify calls that good; here it is not.
func TestUntouched(t *testing.T) {
	k := newKeys(t)
	provider := sshsigtest.Provider(t)
	t.Setenv("SSH_SK_PROVIDER", provider)
	sshsigtest.Key(t, provider, k.path("id"), "no-touch-required")
	k.write("allowed_signers", "me@example.com "+Public(k.path("id"))+"\n")
	k.write("text", message)
	if out, err := exec.Command(k.signers.Tool, "-Y", "sign", "-n", Namespace, "-f", k.path("id"), k.path("text")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(k.path("text.sig"))
	if err != nil {
		t.Fatal(err)
	}
	armor := string(b)
	cmd := exec.Command(k.signers.Tool, "-Y", "verify", "-f", k.signers.File, "-I", "me@example.com", "-n", Namespace, "-s", k.path("text.sig"))
	cmd.Stdin = strings.NewReader(message)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("ssh-keygen refuses it now, so that this package need not: %s", out)
	}
	if err := k.signers.Verify(t.Context(), "me@example.com", armor, []byte(message)); !errors.Is(err, ErrBad) || !strings.Contains(err.Error(), "touch") {
		t.Errorf("nobody touched the token: %v", err)
	}
}

// untouched is the base64 of a signature whose token says that nobody touched it.
const untouched = "U1NIU0lHAAAAAQAAAEoAAAAac2stc3NoLWVkMjU1MTlAb3BlbnNzaC5jb20AAAAgtSiBPQ\n" +
	"jiztHTw9P74QBxUZdUjJi4Wl831NpfB9ChTkUAAAAEc3NoOgAAAA1wdWxzZS1hcHByb3Zl\n" +
	"AAAAAAAAAAZzaGE1MTIAAABnAAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAQG\n" +
	"oZ850whciA0mH8zueyx7M2dZebAZtIUTidY0nCRd6SmOKh4dIpaAt0gTkXIatx17p9kzdI\n" +
	"gO+lr31LPKFZ8A0AAAAAAQ==\n"

// TestTouched: the flag decides, and what can't be read is not good.
func TestTouched(t *testing.T) {
	was := touched(armorBegin + strings.Replace(untouched, "PKFZ8A0AAAAA", "PKFZ8A0BAAAA", 1) + armorEnd)
	for name, c := range map[string]struct {
		err  error
		good bool
	}{
		"touched":     {was, true},
		"not touched": {touched(armorBegin + untouched + armorEnd), false},
		"cut short":   {touched(armorBegin + untouched[:len(untouched)-9] + "\n" + armorEnd), false},
		"longer":      {touched(armorBegin + strings.Replace(untouched, "AQ==", "AQAA", 1) + armorEnd), false},
		"of nothing":  {touched(armorBegin + "AAAA\n" + armorEnd), false},
		"not base64":  {touched(armorBegin + "A=A\n" + armorEnd), false},
		"no armor":    {touched(untouched), false},
	} {
		if (c.err == nil) != c.good || !c.good && !errors.Is(c.err, ErrBad) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}
