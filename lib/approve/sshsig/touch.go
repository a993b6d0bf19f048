package sshsig

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// userPresent is the flag of a token's signature that says that somebody touched it.
const userPresent = 0x01

// touched returns ErrBad for what is not a signature, and for a token's that was made
// without a touch. A token makes such a one for every program that asks for it, sshd
// refuses it, and ssh-keygen -Y verify does not (OpenSSH 9.2).
func touched(armor string) error {
	_, sig, err := decode(armor)
	if err != nil {
		return err
	}
	return present(sig)
}

// present returns ErrBad for the signature of a token that nobody touched.
func present(sig *ssh.Signature) error {
	if !strings.HasPrefix(sig.Format, "sk-") && !fromBrowser(sig) {
		return nil // whose key can't be touched
	}
	if len(sig.Rest) == 0 || sig.Rest[0]&userPresent == 0 {
		return fmt.Errorf("%w: the token was not touched", ErrBad)
	}
	return nil
}

func fromBrowser(sig *ssh.Signature) bool { return strings.HasPrefix(sig.Format, "webauthn-") }

// frame is what PROTOCOL.sshsig puts around the signature proper, after a magic word.
type frame struct {
	Version   uint32
	Key       []byte
	Namespace string
	Reserved  []byte
	Hash      string
	Signature []byte
}

const magic = "SSHSIG"

// decode reads an armored signature. The error is ErrBad.
func decode(armor string) (*frame, *ssh.Signature, error) {
	if err := wellFormed(armor); err != nil {
		return nil, nil, err
	}
	body := strings.TrimSuffix(strings.TrimPrefix(armor, armorBegin), armorEnd)
	blob, err := base64.StdEncoding.DecodeString(body) // which skips the line ends
	if err != nil {
		return nil, nil, fmt.Errorf("%w: it is not base64", ErrBad)
	}
	blob, ok := bytes.CutPrefix(blob, []byte(magic))
	f, sig := &frame{}, &ssh.Signature{}
	if !ok || ssh.Unmarshal(blob, f) != nil || ssh.Unmarshal(f.Signature, sig) != nil {
		return nil, nil, fmt.Errorf("%w: it is not an SSH signature", ErrBad)
	}
	return f, sig, nil
}
