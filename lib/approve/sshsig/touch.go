package sshsig

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
)

// userPresent is the flag of a token's signature that says that somebody touched it.
const userPresent = 0x01

// touched returns ErrBad for what is not a signature, and for a token's that was made
// without a touch. A token makes such a one for every program that asks for it, sshd
// refuses it, and ssh-keygen -Y verify does not (OpenSSH 9.2).
func touched(armor string) error {
	if err := wellFormed(armor); err != nil {
		return err
	}
	body := strings.TrimSuffix(strings.TrimPrefix(armor, armorBegin), armorEnd)
	blob, err := base64.StdEncoding.DecodeString(body) // which skips the line ends
	if err != nil {
		return fmt.Errorf("%w: it is not base64", ErrBad)
	}
	signature, ok := innermost(blob)
	if !ok {
		return fmt.Errorf("%w: it is not an SSH signature", ErrBad)
	}
	kind, rest, ok := cutString(signature)
	if !ok || !strings.HasPrefix(string(kind), "sk-") && !strings.HasPrefix(string(kind), "webauthn-") {
		return nil // whose key can't be touched
	}
	if _, rest, ok = cutString(rest); !ok || len(rest) == 0 || rest[0]&userPresent == 0 {
		return fmt.Errorf("%w: the token was not touched", ErrBad)
	}
	return nil
}

// innermost returns the signature proper, which PROTOCOL.sshsig puts last: after a magic
// word, a version, the public key, the namespace, a reserved string and the hash.
func innermost(blob []byte) (signature []byte, ok bool) {
	const magic = "SSHSIG"
	if !strings.HasPrefix(string(blob), magic) || len(blob) < len(magic)+4 {
		return nil, false
	}
	rest := blob[len(magic)+4:]
	for range 5 {
		if signature, rest, ok = cutString(rest); !ok {
			return nil, false
		}
	}
	return signature, len(rest) == 0
}

// cutString cuts a string of RFC 4251, section 5, off the front of b.
func cutString(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := int64(binary.BigEndian.Uint32(b))
	if b = b[4:]; n > int64(len(b)) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}
