package sshsig

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// keys is a directory with keys, and with the file of those that count.
type keys struct {
	t       *testing.T
	dir     string
	signers Signers
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	tool, err := Tool()
	if err != nil {
		t.Fatal(err) // Debian's openssh-client
	}
	k := &keys{t, t.TempDir(), Signers{Tool: tool}}
	k.signers.File = filepath.Join(k.dir, "allowed_signers")
	k.write("allowed_signers", "")
	return k
}

func (k *keys) path(name string) string { return filepath.Join(k.dir, name) }

func (k *keys) write(name, text string) {
	k.t.Helper()
	if err := os.WriteFile(k.path(name), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// make creates a key and returns its public half.
func (k *keys) make(name string, args ...string) string {
	k.t.Helper()
	out, err := exec.Command(k.signers.Tool, append([]string{"-q", "-N", "", "-C", "", "-f", k.path(name)}, args...)...).CombinedOutput()
	if err != nil {
		k.t.Fatalf("%v: %s", err, out)
	}
	return Public(k.path(name))
}

func (k *keys) sign(name, text string) string {
	k.t.Helper()
	armor, err := Sign(context.Background(), k.signers.Tool, k.path(name), []byte(text), nil)
	if err != nil {
		k.t.Fatal(err)
	}
	return armor
}

const message = `{"pulse-approve":1}`

func TestRoundTrip(t *testing.T) {
	for _, kind := range [][]string{{"-t", "ed25519"}, {"-t", "rsa", "-b", "2048"}, {"-t", "rsa", "-b", "4096"}, {"-t", "ecdsa"}} {
		k := newKeys(t)
		public := k.make("id", kind...)
		k.write("allowed_signers", "# who may\n\nyou@example.com,me@example.com "+public+"\n")
		armor := k.sign("id", message)
		who, err := k.signers.Principal(t.Context(), armor)
		if err != nil || who != "you@example.com" {
			t.Errorf("%v: %q, %v", kind, who, err)
		}
		if err := k.signers.Verify(t.Context(), who, armor, []byte(message)); err != nil {
			t.Errorf("%v: %v", kind, err)
		}
		for name, err := range map[string]error{
			"other bytes":     k.signers.Verify(t.Context(), who, armor, []byte(message+"\n")),
			"none":            k.signers.Verify(t.Context(), who, armor, nil),
			"other signer":    k.signers.Verify(t.Context(), "eve@example.com", armor, []byte(message)),
			"no signer":       k.signers.Verify(t.Context(), "", armor, []byte(message)),
			"two signers":     k.signers.Verify(t.Context(), "me@example.com\nyou@example.com", armor, []byte(message)),
			"flag for signer": k.signers.Verify(t.Context(), "-Overify-time=20200101", armor, []byte(message)),
			"NUL in signer":   k.signers.Verify(t.Context(), "me@example.com\x00", armor, []byte(message)),
			"no armor":        k.signers.Verify(t.Context(), who, "", []byte(message)),
			"a flipped bit":   k.signers.Verify(t.Context(), who, flip(armor), []byte(message)),
			"two signatures":  k.signers.Verify(t.Context(), who, armor+armor, []byte(message)),
		} {
			if !errors.Is(err, ErrBad) {
				t.Errorf("%v: %s: %v", kind, name, err)
			}
		}
	}
}

// flip changes a bit of the signature proper, near the end.
func flip(armor string) string {
	b := []byte(armor)
	i := len(b) - len(armorEnd) - 12
	for b[i] == '\n' {
		i--
	}
	if b[i] == 'A' {
		b[i] = 'B'
	} else {
		b[i] = 'A'
	}
	return string(b)
}

// TestOptions: ssh-keygen applies the options in allowed_signers.
func TestOptions(t *testing.T) {
	k := newKeys(t)
	public := k.make("id", "-t", "ed25519")
	armor := k.sign("id", message)
	for options, good := range map[string]bool{
		"":                           true,
		`namespaces="pulse-approve"`: true,
		`namespaces="git,pulse-*"`:   true,
		`namespaces="git"`:           false,
		`valid-after="20200101",valid-before="20990101"`:     true,
		`valid-before="20200101"`:                            false,
		`valid-after="20990101"`:                             false,
		`namespaces="pulse-approve",valid-before="20200101"`: false,
		`cert-authority`:                                     false,
	} {
		k.write("allowed_signers", strings.TrimSpace("me@example.com "+options)+" "+public+"\n")
		err := k.signers.Verify(t.Context(), "me@example.com", armor, []byte(message))
		if (err == nil) != good || err != nil && !errors.Is(err, ErrBad) {
			t.Errorf("%s: %v", options, err)
		}
	}
	k.write("allowed_signers", "me@example.com "+k.make("other", "-t", "ed25519")+"\n")
	if who, err := k.signers.Principal(t.Context(), armor); !errors.Is(err, ErrUnknown) {
		t.Errorf("%q, %v", who, err)
	}
}

// TestOtherNamespace: a signature for a file, or a commit, approves nothing.
func TestOtherNamespace(t *testing.T) {
	k := newKeys(t)
	k.write("allowed_signers", "me@example.com "+k.make("id", "-t", "ed25519")+"\n")
	k.write("text", message)
	if out, err := exec.Command(k.signers.Tool, "-Y", "sign", "-n", "file", "-f", k.path("id"), k.path("text")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	armor, err := os.ReadFile(k.path("text.sig"))
	if err != nil {
		t.Fatal(err)
	}
	if err := k.signers.Verify(t.Context(), "me@example.com", string(armor), []byte(message)); !errors.Is(err, ErrBad) {
		t.Error(err)
	}
}

// TestCannotTell: if ssh-keygen can't be asked, the signature is neither good nor bad.
func TestCannotTell(t *testing.T) {
	k := newKeys(t)
	k.write("allowed_signers", "me@example.com "+k.make("id", "-t", "ed25519")+"\n")
	armor := k.sign("id", message)
	k.write("killed", "#!/bin/sh\nkill -9 $$\n")
	if err := os.Chmod(k.path("killed"), 0o700); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx context.Context
		s   Signers
	}{
		"no file":        {t.Context(), Signers{k.signers.Tool, k.path("none")}},
		"no tool":        {t.Context(), Signers{k.path("none"), k.signers.File}},
		"it was killed":  {t.Context(), Signers{k.path("killed"), k.signers.File}},
		"already over":   {over, k.signers},
		"not executable": {t.Context(), Signers{k.signers.File, k.signers.File}},
	} {
		if err := c.s.Verify(c.ctx, "me@example.com", armor, []byte(message)); err == nil || errors.Is(err, ErrBad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnsigned(t *testing.T) {
	k := newKeys(t)
	k.make("id", "-t", "ed25519")
	k.write("-f", "rubbish")
	k.make("locked", "-t", "ed25519", "-N", "secret")
	t.Setenv("SSH_AUTH_SOCK", "")
	t.Setenv("SSH_ASKPASS", "/bin/false")
	t.Setenv("SSH_ASKPASS_REQUIRE", "force")
	t.Setenv("TMPDIR", t.TempDir())
	if err := os.Rename(k.path("id"), k.path("moved")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"none", "id", "id.pub", "-f", "locked", "."} {
		if armor, err := Sign(t.Context(), k.signers.Tool, k.path(name), []byte(message), nil); !errors.Is(err, errUnsigned) || errors.Is(err, ErrBad) {
			t.Errorf("%s: %q, %v", name, armor, err)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("files are left over: %v, %v", left, err)
	}
}

// TestTooMuch: output is bounded, and only a signature is taken for one.
func TestTooMuch(t *testing.T) {
	k := newKeys(t)
	for name, script := range map[string]string{
		"talks":   "head -c 1000000 /dev/zero >&2; exit 255",
		"a large": `for f; do :; done; head -c 100000 /dev/zero >"$f.sig"`,
		"none":    "exit 0",
	} {
		k.write("tool", "#!/bin/sh\n"+script+"\n")
		if err := os.Chmod(k.path("tool"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Sign(t.Context(), k.path("tool"), k.path("id"), []byte(message), nil)
		if !errors.Is(err, errUnsigned) || len(err.Error()) > maxOutput+1000 {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// FuzzWellFormed: what passes fits into a pipe, and is base64 between its first and last
// line, so that no line can end the frame early.
func FuzzWellFormed(f *testing.F) {
	f.Add(armorBegin + "AAAA\n" + armorEnd)
	f.Add(armorBegin + armorEnd)
	f.Add(armorBegin + "-----\n" + armorEnd)
	f.Add(armorBegin[:20])
	f.Add(armorBegin + untouched + armorEnd)
	f.Add("-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n")
	f.Fuzz(func(t *testing.T, armor string) {
		if touched(armor) == nil && wellFormed(armor) != nil {
			t.Errorf("%q was touched, and is no signature", armor)
		}
		if wellFormed(armor) != nil {
			return
		}
		if len(armor) > maxArmor || strings.Count(armor, "-----") != 4 || !strings.HasSuffix(armor, armorEnd) || strings.ContainsAny(armor, "\x00\r") {
			t.Errorf("%q", armor)
		}
	})
}
