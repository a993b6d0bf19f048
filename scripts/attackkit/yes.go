package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// signs gives the world a key whose signature counts as a person's yes.
func (w *world) signs() error {
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", w.file("key")).CombinedOutput(); err != nil {
		return fmt.Errorf("ssh-keygen: %w: %s", err, out)
	}
	key, err := os.ReadFile(w.file("key.pub"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(w.file("signers"), []byte(owner+` namespaces="pulse-approve" `+string(key)), 0o600); err != nil {
		return err
	}
	policy, err := os.ReadFile(w.file("policy.toml"))
	if err != nil {
		return err
	}
	return os.WriteFile(w.file("policy.toml"), append(policy, fmt.Sprintf("\n[approval]\nallowed_signers = %q\n", w.file("signers"))...), 0o600)
}

// yes says yes to everything that waits, or --no, and returns how much that was.
func (w *world) yes(flags ...string) (n int, err error) {
	all, err := w.tasks()
	if err != nil {
		return 0, err
	}
	take := []string{"pulse-approve", "take"}
	for _, t := range all {
		if t.Task.State != "awaiting_review" {
			continue
		}
		out, err := w.pulse("", append([]string{"pulse-approve", "statement", t.Task.ID}, flags...)...)
		if err == nil && flags == nil {
			err = os.WriteFile(w.file("screens/"+t.Task.ID), []byte(out), 0o600)
		}
		if err != nil {
			return 0, err
		}
		out = strings.TrimSuffix(out, "\n")
		line := out[strings.LastIndexByte(out, '\n')+1:] + "\n"
		c := exec.Command("ssh-keygen", "-q", "-Y", "sign", "-n", "pulse-approve", "-f", w.file("key"))
		c.Stdin = strings.NewReader(line)
		var signature bytes.Buffer
		c.Stdout = &signature
		if err := c.Run(); err != nil {
			return 0, fmt.Errorf("ssh-keygen: %w", err)
		}
		name := w.file("tmp/" + t.Task.ID)
		if err := os.WriteFile(name, append([]byte(line), signature.Bytes()...), 0o600); err != nil {
			return 0, err
		}
		take = append(take, name)
	}
	if len(take) == 2 {
		return 0, nil
	}
	_, err = w.pulse("", take...)
	return len(take) - 2, err
}
