// Package sshsig signs and verifies with OpenSSH: SSHSIG signatures (PROTOCOL.sshsig)
// made and checked by ssh-keygen -Y. A key may therefore lie in a file, in an agent or
// on a FIDO token, and pulse never sees one.
//
// Invariant: a signature is good only if ssh-keygen said so of exactly these bytes,
// this namespace and this signer, with the file of allowed signers as it was then.
// No shell is involved, and time and output are bounded. Caveat: it believes the
// ssh-keygen in PATH and the file that it is given. The caller checks that no other user
// can replace them (package safefile).
package sshsig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Namespace is what signatures are made for. One made for a file or a mail is not good
// here.
const Namespace = "pulse-approve"

// The bounds of a run of ssh-keygen. A person may have to find the token first.
const (
	signTimeout   = 2 * time.Minute
	verifyTimeout = 20 * time.Second
	maxOutput     = 64 << 10
	maxArmor      = 16 << 10 // RSA of 16,384 bits takes 6 KiB
	maxPrincipal  = 256
)

var (
	// ErrBad reports a signature that is not good.
	ErrBad = errors.New("the signature is not good")
	// ErrUnknown reports one whose key allowed_signers does not list (now).
	ErrUnknown = errors.New("allowed_signers has no such key")
)

// Tool returns the path of ssh-keygen.
func Tool() (string, error) {
	path, err := exec.LookPath("ssh-keygen")
	if err != nil {
		return "", fmt.Errorf("sshsig: there is no ssh-keygen: %w", err)
	}
	return path, nil
}

// Signers judges signatures by a file of the keys that count.
type Signers struct {
	Tool string // path of ssh-keygen
	File string // of the form in ssh-keygen(1), ALLOWED SIGNERS
}

// Principal returns the name under which the file lists the key of a signature: one of those that
// are preferred, if it has one, else the first. Verify tells whether the signature is good.
func (s *Signers) Principal(ctx context.Context, armor string, prefer ...string) (string, error) {
	out, err := s.ask(ctx, armor, nil, "-Y", "find-principals", "-f", s.File, "-s", signatureFD)
	if errors.Is(err, ErrBad) {
		return "", fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if err != nil {
		return "", err
	}
	who, _, _ := strings.Cut(string(out), "\n")
	for name := range strings.Lines(string(out)) {
		if name = strings.TrimSuffix(name, "\n"); slices.Contains(prefer, name) {
			who = name
			break
		}
	}
	if !plain(who) {
		return "", fmt.Errorf("%w: it has no usable name for it", ErrUnknown)
	}
	return who, nil
}

// Verify returns nil if the principal signed the message, and touched the token if the key
// is on one. It returns ErrBad if not, and another error if it could not find out. What
// Refuse refuses never reaches ssh-keygen.
func (s *Signers) Verify(ctx context.Context, principal, armor string, message []byte) error {
	if !plain(principal) {
		return fmt.Errorf("%w: its signer has no usable name", ErrBad)
	}
	if err := s.Refuse(armor, message); err != nil {
		return err
	}
	_, err := s.ask(ctx, armor, message,
		"-Y", "verify", "-f", s.File, "-I", principal, "-n", Namespace, "-s", signatureFD)
	return err
}

// signatureFD is where ssh-keygen reads a signature: from a pipe, because no part of it
// needs to lie in a file.
const signatureFD = "/dev/fd/3"

// ask runs ssh-keygen with a signature. It returns ErrBad if ssh-keygen says no.
func (s *Signers) ask(ctx context.Context, armor string, stdin []byte, args ...string) ([]byte, error) {
	if err := wellFormed(armor); err != nil {
		return nil, err
	}
	f, err := os.Open(s.File) // if it is missing, that says nothing about the signature
	if err != nil {
		return nil, fmt.Errorf("sshsig: %w", err)
	}
	f.Close()
	if _, err := os.Stat(filepath.Dir(signatureFD)); err != nil { // nor does a missing /proc
		return nil, fmt.Errorf("sshsig: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("sshsig: %w", err)
	}
	defer r.Close()
	_, err = io.WriteString(w, armor) // a pipe holds 64 KiB
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("sshsig: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Tool, args...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.ExtraFiles = []*os.File{r}
	cmd.Stdin = bytes.NewReader(stdin)
	out, complaint := &bounded{}, &bounded{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, complaint, verifyTimeout
	return out.b, judge(ctx, cmd.Run(), complaint, out)
}

// judge turns the end of ssh-keygen into an error. Only an exit status of its own means
// no; a signal or a timeout does not.
func judge(ctx context.Context, err error, complaint *bounded, out *bounded) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("sshsig: ssh-keygen did not answer: %w", ctx.Err())
	case errors.As(err, &exit) && exit.Exited():
		return fmt.Errorf("%w: %s", ErrBad, complaint.last(out.last("ssh-keygen does not say why")))
	}
	return fmt.Errorf("sshsig: ssh-keygen: %w", err)
}

// plain reports whether a principal can be handed on as one word.
func plain(s string) bool {
	foreign := func(r rune) bool { return r <= ' ' || r > '~' }
	return s != "" && len(s) <= maxPrincipal && strings.IndexFunc(s, foreign) < 0
}

const (
	armorBegin = "-----BEGIN SSH SIGNATURE-----\n"
	armorEnd   = "-----END SSH SIGNATURE-----\n"
)

// wellFormed refuses a signature that ssh-keygen would not have written: it consists of
// lines of base64 between a first and a last line. The others never reach ssh-keygen.
func wellFormed(armor string) error {
	body, ok := strings.CutPrefix(armor, armorBegin)
	body, end := strings.CutSuffix(body, armorEnd)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\n"
	if !ok || !end || len(armor) > maxArmor || body == "" || strings.Trim(body, alphabet) != "" {
		return fmt.Errorf("%w: it is not an armored SSH signature", ErrBad)
	}
	return nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ b []byte }

func (w *bounded) Write(p []byte) (int, error) {
	w.b = append(w.b, p[:min(len(p), maxOutput-len(w.b))]...)
	return len(p), nil
}

// last returns the last line, or other if there is none.
func (w *bounded) last(other string) string {
	text := strings.TrimSpace(string(w.b))
	if text == "" {
		return other
	}
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
