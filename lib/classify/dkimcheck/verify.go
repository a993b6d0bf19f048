package dkimcheck

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/emersion/go-msgauth/dkim"

	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// errUnwanted stops go-msgauth at a signature that already has its verdict.
var errUnwanted = errors.New("not looked up")

// verify has go-msgauth compare hashes and signatures. It passes on the fields as
// lib/fetch/message split them, and only keys that were accepted.
func (k *check) verify() {
	keys := map[string]string{}
	for _, s := range k.found {
		if s.Result == "" {
			keys[s.keyName(s.Selector)] = s.key
		}
	}
	if len(keys) == 0 {
		return
	}
	raw := io.MultiReader(strings.NewReader(strings.Join(k.fields, "")+"\r\n"), bytes.NewReader(k.body))
	list, err := dkim.VerifyWithOptions(raw, &dkim.VerifyOptions{
		MaxVerifications: maxSignatures,
		LookupTXT: func(name string) ([]string, error) {
			if key, ok := keys[name]; ok {
				return []string{key}, nil
			}
			return nil, errUnwanted
		},
	})
	if errors.Is(err, dkim.ErrTooManySignatures) {
		err = nil
	}
	for i, s := range k.found {
		if err != nil || len(list) != len(k.found) {
			s.say(envelope.DKIMNeutral, "the message can't be verified")
			continue
		}
		s.conclude(list[i])
	}
}

// conclude adopts go-msgauth's verdict if it is about the same signature.
func (s *signature) conclude(v *dkim.Verification) {
	switch {
	case s.Result != "": // go-msgauth may have found its key: another signature has the same
	case v.Err == nil && s.same(v):
		s.Result = envelope.DKIMPass
	case v.Err == nil:
		s.say(envelope.DKIMNeutral, "it can be read in two ways")
	case dkim.IsPermFail(v.Err):
		s.say(envelope.DKIMNeutral, strings.TrimPrefix(v.Err.Error(), "dkim: "))
	default:
		s.say(envelope.DKIMFail, strings.TrimPrefix(v.Err.Error(), "dkim: "))
	}
}

// same reports whether go-msgauth read the signature as this package did.
func (s *signature) same(v *dkim.Verification) bool {
	return v.Domain == s.Domain && v.Identifier == s.User+"@"+s.agent &&
		slices.EqualFunc(v.HeaderKeys, s.Headers, address.Equal)
}
