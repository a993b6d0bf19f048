package dkimcheck

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"strings"

	"pulse/lib/classify/taglist"
	"pulse/lib/fetch/bodyhash"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// The reasons of a signature that is not good, in the words of go-msgauth.
const (
	badBody   = "body hash did not verify"
	badHeader = "signature did not verify"
)

// spent is the reason of a signature that the budget left no room for.
const spent = "the time that one message may take is over"

// checkBody compares the body with bh=, before DNS is asked for the key. The body is hashed
// once for each canonicalization, however many signatures there are.
func (k *check) checkBody(ctx context.Context, s *signature) {
	if s.Result != "" {
		return
	}
	want, err := base64.StdEncoding.DecodeString(solid(s.tags.Or("bh", "")))
	if err != nil {
		s.say(envelope.DKIMNeutral, "bh= can't be read")
		return
	}
	sum := &k.bodies[0]
	if s.relaxedBody {
		sum = &k.bodies[1]
	}
	if *sum == nil {
		if *sum, err = bodyhash.Of(ctx, k.body, s.relaxedBody); err != nil {
			s.say(envelope.DKIMTempError, spent)
			return
		}
	}
	if !bytes.Equal(*sum, want) {
		s.say(envelope.DKIMFail, badBody)
	}
}

// checkHeader compares the signature with the header. A signature that is left without a
// verdict until here and is good passes.
func (k *check) checkHeader(ctx context.Context, s *signature) {
	if s.Result != "" {
		return
	}
	sig, err := base64.StdEncoding.DecodeString(solid(s.tags.Or("b", "")))
	switch {
	case err != nil:
		s.say(envelope.DKIMNeutral, "b= can't be read")
	case ctx.Err() != nil:
		s.say(envelope.DKIMTempError, spent)
	case !s.signs(k.hashHeader(s), sig):
		s.say(envelope.DKIMFail, badHeader)
	default:
		s.Result = envelope.DKIMPass
	}
}

// signs reports whether sig is the signature of a hash by the key (RFC 8017 §8.2.2; RFC
// 8463 §3).
func (s *signature) signs(hash, sig []byte) bool {
	switch key := s.key.(type) {
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, hash, sig) == nil
	case ed25519.PublicKey:
		return ed25519.Verify(key, hash, sig)
	}
	return false
}

// hashHeader returns the hash that b= signs (RFC 6376 §3.7): the fields that h= names, a name
// that stands there again for the next field upward, one that is not there for nothing
// (§5.4.2); last the signature's own field, with b= empty and no CRLF at its end.
func (k *check) hashHeader(s *signature) []byte {
	form := func(field string) string { return field }
	if s.relaxedHeader {
		form = relaxed
	}
	sum := sha256.New()
	used := map[string]int{}
	for _, name := range s.Headers {
		list := k.named[name]
		if n := len(list) - used[name]; n > 0 {
			used[name]++
			io.WriteString(sum, form(list[n-1]))
		}
	}
	io.WriteString(sum, strings.TrimRight(form(withoutB(s.field)), "\r\n"))
	return sum.Sum(nil)
}

// relaxed returns a field after relaxed canonicalization (RFC 6376 §3.4.2).
func relaxed(field string) string {
	name, value, _ := strings.Cut(field, ":")
	blank := func(r rune) bool { return strings.ContainsRune(taglist.Blanks, r) }
	return address.Fold(taglist.Trim(name)) + ":" + strings.Join(strings.FieldsFunc(value, blank), " ") + "\r\n"
}

// withoutB returns a DKIM-Signature field with an empty b=, which stands there once.
func withoutB(field string) string {
	begin := strings.IndexByte(field, ':') + 1
	for tag := range strings.SplitAfterSeq(field[begin:], ";") {
		name, _, _ := strings.Cut(tag, "=")
		end := begin + len(strings.TrimSuffix(tag, ";"))
		if taglist.Trim(name) == "b" {
			return field[:begin+len(name)+len("=")] + field[end:]
		}
		begin += len(tag)
	}
	return field
}

// solid returns a value without the folding that base64 may have (RFC 6376 §2.10).
func solid(value string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(taglist.Blanks, r) {
			return -1
		}
		return r
	}, value)
}
