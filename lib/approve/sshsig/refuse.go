package sshsig

import (
	"crypto/sha256"
	"crypto/sha512"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// Refuse returns why a signature over a message can't be good, without ssh-keygen: anybody
// can bring thousands that are not, and each takes ssh-keygen 10 ms. nil means that only
// ssh-keygen can tell, whose word alone makes a signature good. The error is ErrBad, with
// ErrUnknown if the key is not listed, or another one if it could not find out.
func (s *Signers) Refuse(armor string, message []byte) error {
	f, sig, err := decode(armor)
	if err != nil {
		return err
	}
	if err := present(sig); err != nil {
		return err
	}
	signed, err := f.over(message)
	if err != nil {
		return err
	}
	keys, err := s.keys()
	if err != nil {
		return err
	}
	if !keys.lists(f.Key) {
		return fmt.Errorf("%w: %w", ErrUnknown, ErrBad)
	}
	key, err := ssh.ParsePublicKey(f.Key)
	if _, certificate := key.(*ssh.Certificate); err != nil || certificate || fromBrowser(sig) {
		return nil // the package ssh does not know enough about these
	}
	if err := key.Verify(signed, sig); err != nil {
		return fmt.Errorf("%w: its key did not sign this", ErrBad)
	}
	return nil
}

// over returns the bytes that are signed for a message, as PROTOCOL.sshsig has them.
func (f *frame) over(message []byte) ([]byte, error) {
	if f.Version > 1 || f.Namespace != Namespace {
		return nil, fmt.Errorf("%w: it was made for something else", ErrBad)
	}
	var sum []byte
	switch f.Hash {
	case "sha256":
		h := sha256.Sum256(message)
		sum = h[:]
	case "sha512":
		h := sha512.Sum512(message)
		sum = h[:]
	default:
		return nil, fmt.Errorf("%w: its hash is of no known kind", ErrBad)
	}
	return append([]byte(magic), ssh.Marshal(struct {
		Namespace, Reserved, Hash string
		Sum                       []byte
	}{f.Namespace, "", f.Hash, sum})...), nil
}
