package dkimcheck

import (
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pulse/lib/classify/taglist"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// The sizes of RSA keys that are accepted, in bits. RFC 8301 §3.2 asks for at
// least 1024; more than 8192 only costs time.
const (
	minRSA = 1024
	maxRSA = 8192
)

// findKey looks up the key of a signature, unless the signature is refused already.
func (k *check) findKey(s *signature) {
	if s.Result != "" {
		return
	}
	records, err := k.dns.txt(s.keyName(s.Selector))
	switch {
	case errors.Is(err, ErrTemporary):
		s.say(envelope.DKIMTempError, "DNS gives no answer for its key")
	case err != nil:
		s.say(envelope.DKIMPermError, err.Error())
	case len(records) == 0:
		s.say(envelope.DKIMPermError, "there is no key")
	case len(records) > 1: // RFC 6376 §3.6.2.2 does not define what that means
		s.say(envelope.DKIMPermError, "there is more than one key record")
	default:
		s.accept(records[0])
	}
}

// accept keeps the key of a record, or says why it is refused.
func (s *signature) accept(record string) {
	t, err := taglist.Parse(record)
	if err != nil {
		s.say(envelope.DKIMPermError, "the key record can't be read")
		return
	}
	s.say(envelope.DKIMPermError, s.wrongKey(t))
	s.say(envelope.DKIMPolicy, s.flagged(t))
	if s.Result == "" {
		s.readKey(t)
	}
}

// wrongKey returns why a key can't be used for this signature (RFC 6376 §3.6.1); empty
// if it can.
func (s *signature) wrongKey(t taglist.List) string {
	algorithm, _, _ := strings.Cut(s.Algorithm, "-")
	switch {
	case t.Or("v", "DKIM1") != "DKIM1":
		return "the key record has an unknown version"
	case t.Or("p", "") == "":
		return "the key was revoked"
	case t.Or("k", "rsa") != algorithm:
		return "the key is for another algorithm"
	case !slices.Contains(taglist.Elements(t.Or("h", "sha256")), "sha256"):
		return "the key is for another hash"
	}
	services := taglist.Elements(t.Or("s", "*"))
	if !slices.Contains(services, "*") && !slices.Contains(services, "email") {
		return "the key is not for mail"
	}
	return ""
}

// flagged reads t= of the key: a key on trial proves nothing (y), and a key may forbid
// subdomains in i= (s).
func (s *signature) flagged(t taglist.List) string {
	flags := taglist.Elements(t.Or("t", ""))
	switch {
	case slices.Contains(flags, "y"):
		return "the key is on trial (t=y)"
	case slices.Contains(flags, "s") && !address.Equal(s.agent, s.Domain):
		return "the key is not for the subdomain in i= (t=s)"
	}
	return ""
}

// readKey reads p=, which may be folded anywhere, with tabs too (RFC 6376 §3.6.1).
func (s *signature) readKey(t taglist.List) {
	der, err := base64.StdEncoding.DecodeString(solid(t.Or("p", "")))
	ed := t.Or("k", "rsa") == "ed25519"
	key, ok := publicKey(der)
	switch {
	case err == nil && ed && len(der) == ed25519.PublicKeySize: // RFC 8463 §4.2
		s.key = ed25519.PublicKey(der)
	case err != nil || ed || !ok:
		s.say(envelope.DKIMPermError, "the key can't be read")
	case key.N.BitLen() < minRSA || key.N.BitLen() > maxRSA:
		s.say(envelope.DKIMPolicy, fmt.Sprintf("the key has %d bits", key.N.BitLen()))
	default:
		s.key = key
	}
}

// publicKey reads a key in either of the forms in use (RFC 6376, erratum 3017).
func publicKey(der []byte) (*rsa.PublicKey, bool) {
	if pub, err := x509.ParsePKIXPublicKey(der); err == nil {
		key, ok := pub.(*rsa.PublicKey)
		return key, ok
	}
	key, err := x509.ParsePKCS1PublicKey(der)
	return key, err == nil
}
