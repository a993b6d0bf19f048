package sshsig

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"pulse/lib/approve/sshsig/sshsigtest"
)

// armored writes a signature as ssh-keygen does.
func armored(blob []byte) string {
	text := base64.StdEncoding.EncodeToString(blob)
	var b strings.Builder
	b.WriteString(armorBegin)
	for ; len(text) > 70; text = text[70:] {
		b.WriteString(text[:70] + "\n")
	}
	return b.String() + text + "\n" + armorEnd
}

// TestRefuse: what can't be good is refused although there is no ssh-keygen, and what may
// be good is not.
func TestRefuse(t *testing.T) {
	k := newKeys(t)
	mine, other := k.make("id", "-t", "ed25519"), k.make("other", "-t", "ed25519")
	armor, foreign := k.sign("id", message), k.sign("other", message)
	k.signers.Tool = k.path("none")
	f, _, err := decode(armor)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(f *frame)) string {
		c := *f
		change(&c)
		return armored(append([]byte(magic), ssh.Marshal(c)...))
	}
	k.write("allowed_signers", "me@example.com "+mine+"\n")
	for name, c := range map[string]struct {
		armor, message string
		is             error
	}{
		"good":            {armor, message, nil},
		"written again":   {with(func(*frame) {}), message, nil},
		"other bytes":     {armor, message + "\n", ErrBad},
		"not listed":      {foreign, message, ErrUnknown},
		"a flipped bit":   {flip(armor), message, ErrBad},
		"other namespace": {with(func(f *frame) { f.Namespace = "file" }), message, ErrBad},
		"other hash":      {with(func(f *frame) { f.Hash = "md5" }), message, ErrBad},
		"sha256 now":      {with(func(f *frame) { f.Hash = "sha256" }), message, ErrBad},
		"later version":   {with(func(f *frame) { f.Version = 2 }), message, ErrBad},
		"key of nothing":  {with(func(f *frame) { f.Key = nil }), message, ErrUnknown},
	} {
		err := k.signers.Refuse(c.armor, []byte(c.message))
		if !errors.Is(err, c.is) || (err == nil) != (c.is == nil) || err != nil && !errors.Is(err, ErrBad) {
			t.Errorf("%s: %v", name, err)
		}
		if c.is == nil {
			continue
		}
		if err := k.signers.Verify(t.Context(), "me@example.com", c.armor, []byte(c.message)); !errors.Is(err, c.is) {
			t.Errorf("%s: Verify asks ssh-keygen: %v", name, err)
		}
	}
	k.write("allowed_signers", "me@example.com "+other+"\nme@example.com AAAA\n")
	if err := k.signers.Refuse(armor, []byte(message)); err == nil || errors.Is(err, ErrBad) {
		t.Errorf("while the file is edited, nobody can tell: %v", err)
	}
}

// TestRefuseNothingGood: what is refused here, ssh-keygen refuses too: signatures by keys of
// each kind, with bytes changed at random.
func TestRefuseNothingGood(t *testing.T) {
	provider := sshsigtest.Provider(t)
	t.Setenv("SSH_SK_PROVIDER", provider)
	k := newKeys(t)
	sshsigtest.Key(t, provider, k.path("sk"))
	k.make("ca", "-t", "ed25519")
	lines := "me@example.com " + Public(k.path("sk")) + "\nme@example.com cert-authority " + Public(k.path("ca")) + "\n"
	names := []string{"sk"}
	for name, kind := range map[string][]string{
		"ed25519": {"-t", "ed25519"}, "rsa": {"-t", "rsa", "-b", "3072"}, "small": {"-t", "rsa", "-b", "1024"}, "large": {"-t", "rsa", "-b", "16384"},
		"p256": {"-t", "ecdsa"}, "p384": {"-t", "ecdsa", "-b", "384"}, "p521": {"-t", "ecdsa", "-b", "521"},
	} {
		if name == "large" && testing.Short() {
			continue // minutes
		}
		lines += "me@example.com " + k.make(name, kind...) + "\n"
		names = append(names, name)
	}
	k.make("user", "-t", "ed25519") // which only its certificate makes known
	if out, err := exec.Command(k.signers.Tool, "-q", "-s", k.path("ca"), "-I", "x", "-n", "me@example.com", k.path("user.pub")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Rename(k.path("user-cert.pub"), k.path("user.pub")); err != nil {
		t.Fatal(err)
	}
	k.write("allowed_signers", lines)
	for _, name := range append(names, "user") {
		armor := k.sign(name, message)
		k.agrees(t, name, armor, true)
		blob, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(strings.TrimPrefix(armor, armorBegin), armorEnd))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			changed := append([]byte(nil), blob...)
			changed[rand.IntN(len(changed))] ^= 1 << rand.IntN(8)
			k.agrees(t, name, armored(changed), false)
		}
	}
}

// agrees fails if a signature is refused here that ssh-keygen calls good, or if a good one
// is not good to both.
func (k *keys) agrees(t *testing.T, name, armor string, good bool) {
	t.Helper()
	refused := k.signers.Refuse(armor, []byte(message))
	_, err := k.signers.ask(t.Context(), armor, []byte(message),
		"-Y", "verify", "-f", k.signers.File, "-I", "me@example.com", "-n", Namespace, "-s", signatureFD)
	untouched := refused != nil && strings.Contains(refused.Error(), "touch")
	if good && err != nil || refused != nil && err == nil && !untouched {
		t.Errorf("%s: refused: %v, ssh-keygen: %v\n%s", name, refused, err, armor)
	}
}
