// Package sshsigtest makes keys of a FIDO token for tests, without a token: a provider of
// OpenSSH's sk-api in software, built by the C compiler from testdata/softkey.c.
//
// Invariant: what a key made here signs is, to ssh-keygen, what a token signs. Caveat: the
// private half lies in the key's file, and nobody touches anything.
package sshsigtest

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed testdata/softkey.c
var softkey string

// Provider builds the provider and returns its path, for SSH_SK_PROVIDER and for
// ssh-keygen -w.
func Provider(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pulse-softkey-") // that other accounts may read
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "softkey.so")
	if err := build(dir, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func build(dir, path string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	source := filepath.Join(dir, "softkey.c")
	if err := os.WriteFile(source, []byte(softkey), 0o644); err != nil {
		return err
	}
	out, err := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o", path, source, "-l:libcrypto.so.3").CombinedOutput()
	if err != nil {
		return fmt.Errorf("gcc: %w: %s", err, out)
	}
	return os.Chmod(path, 0o755)
}

// Key makes a key of type ed25519-sk in a file, without a passphrase. options are those
// of ssh-keygen -O, such as no-touch-required.
func Key(t testing.TB, provider, file string, options ...string) {
	t.Helper()
	args := []string{"-q", "-t", "ed25519-sk", "-w", provider, "-N", "", "-C", "", "-f", file}
	for _, o := range options {
		args = append(args, "-O", o)
	}
	if out, err := exec.Command("ssh-keygen", args...).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen -t ed25519-sk: %v: %s", err, out)
	}
}
