package sshsig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// errUnsigned reports that there is no signature: the person gave up, or ssh-keygen failed.
var errUnsigned = errors.New("it was not signed")

// Sign lets a person sign a message with a key: a private one, or the public one
// whose private half an agent or a token holds. ssh-keygen asks for a passphrase, a PIN
// or a touch on terminal, which may be nil.
func Sign(ctx context.Context, tool, key string, message []byte, terminal *os.File) (armor string, err error) {
	dir, err := os.MkdirTemp("", "pulse-sign-*")
	if err != nil {
		return "", fmt.Errorf("sshsig: %w", err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "statement")
	if err := os.WriteFile(name, message, 0o600); err != nil {
		return "", fmt.Errorf("sshsig: %w", err)
	}
	if key, err = filepath.Abs(key); err != nil { // it must not look like a flag
		return "", fmt.Errorf("sshsig: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, signTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, "-q", "-Y", "sign", "-n", Namespace, "-f", key, name)
	complaint, shown := &bounded{}, io.Writer(terminal)
	if terminal == nil {
		shown = io.Discard
	} else {
		cmd.Stdin = terminal // or it would not ask for a passphrase
	}
	cmd.Stderr, cmd.WaitDelay = io.MultiWriter(complaint, shown), verifyTimeout
	if err := judge(ctx, cmd.Run(), complaint, &bounded{}); err != nil {
		return "", fmt.Errorf("%w: %w", errUnsigned, unbad(err))
	}
	f, err := os.Open(name + ".sig")
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnsigned, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxArmor+1))
	if err == nil {
		err = touched(string(b))
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnsigned, err)
	}
	return string(b), nil
}

// unbad removes ErrBad from an error: there is no signature yet that could be bad.
func unbad(err error) error {
	if text, ok := strings.CutPrefix(err.Error(), ErrBad.Error()+": "); ok {
		return errors.New(text)
	}
	return err
}

// Public returns the public half of a key ("ssh-ed25519 AAAA…", without the comment), or
// the empty string if that does not lie beside the private one.
func Public(key string) string {
	for _, name := range []string{strings.TrimSuffix(key, ".pub") + ".pub", key} {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(f, maxArmor))
		f.Close()
		fields := strings.Fields(string(b))
		if err == nil && len(fields) >= 2 && plain(fields[0]) && strings.HasPrefix(fields[1], "AAAA") {
			return fields[0] + " " + fields[1]
		}
	}
	return ""
}
