package sshsig

import (
	"fmt"
	"slices"
	"strings"
)

// Names returns every name that the file has for the key of a signature, whatever it is listed for:
// two signatures are of two people only if their keys have no name in common. It does not tell
// whether the signature is good. The error is ErrUnknown if the file does not say whose key it is:
// it has a pattern in the place of a name, or the key is certified by another one.
func (s *Signers) Names(armor string) ([]string, error) {
	f, _, err := decode(armor)
	if err != nil {
		return nil, err
	}
	keys, err := s.keys()
	if err != nil {
		return nil, err
	}
	names := keys.blobs[string(f.Key)]
	if len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return !plain(n) || strings.ContainsAny(n, "*?!") }) {
		return nil, fmt.Errorf("%w that one person alone is named for", ErrUnknown)
	}
	return names, nil
}
