package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pulse/lib/shared/envelope"
)

// tolerance is how far the signed timestamp may be from the time when the request came.
const tolerance = 5 * time.Minute

// The bounds of secrets: as many as a rotation needs, and as long as the specification
// allows.
const (
	maxKeys       = 16
	leastKey      = 24  // bytes
	mostKey       = 64  // bytes, for Standard Webhooks
	mostPlain     = 256 // bytes, for X-Pulse-Signature and platforms
	maxSignatures = 32  // in one request
)

// MaxKeyFile is more than a file of secrets can need, in bytes.
const MaxKeyFile = 8 << 10

// prefix marks a secret of Standard Webhooks.
const prefix = "whsec_"

// Keys are the secrets of one sender. A secret of one scheme is never tried for another,
// because what is signed under one could be read as something else under another. The
// secrets of a platform stand alone: its requests have other senders than the spool.
type Keys struct {
	standard, plain [][]byte

	platform *platform // nil: of none
	keys     [][]byte  // of platform
}

// ParseKeys reads secrets, one a line. whsec_ and base64 of 24 to 64 bytes is a secret of
// Standard Webhooks. The name of a platform, a blank and its secret is one of that platform.
// Any other line, of 24 to 256 printable characters, is a secret of X-Pulse-Signature, and
// its characters are the key. No error shows a secret.
func ParseKeys(b []byte) (Keys, error) {
	var k Keys
	n := 0
	for line := range bytes.Lines(b) {
		n++
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) == 0 {
			continue
		}
		if err := k.add(string(line)); err != nil {
			return Keys{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch n := len(k.standard) + len(k.plain) + len(k.keys); {
	case n == 0:
		return k, errors.New("it holds no secret")
	case k.keys != nil && n > len(k.keys):
		return k, fmt.Errorf("it holds secrets of %s and others: one directory has one sender", k.platform.word)
	case n > maxKeys:
		return k, fmt.Errorf("it holds %d secrets, want %d at most", n, maxKeys)
	}
	return k, nil
}

func (k *Keys) add(line string) error {
	if p, secret := platformOf(line); p != nil {
		return k.addPlatform(p, secret)
	}
	code, standard := strings.CutPrefix(line, prefix)
	if standard {
		key, err := base64.StdEncoding.Strict().DecodeString(code)
		if err != nil || len(key) < leastKey || len(key) > mostKey {
			return fmt.Errorf("want %s and base64 of %d to %d bytes", prefix, leastKey, mostKey)
		}
		k.standard = append(k.standard, key)
		return nil
	}
	switch {
	case strings.HasPrefix(line, "whsk_") || strings.HasPrefix(line, "whpk_"):
		return errors.New("a key for signatures of version v1a, which are not read: " +
			"ask the sender for one that begins with " + prefix)
	case len(line) < leastKey || len(line) > mostPlain || !visible(line):
		return fmt.Errorf("want %d to %d printable characters without a blank", leastKey, mostPlain)
	}
	k.plain = append(k.plain, []byte(line))
	return nil
}

func (k *Keys) addPlatform(p *platform, secret string) error {
	if k.platform != nil && k.platform != p {
		return fmt.Errorf("it is of %s, and the lines before it are of %s: one directory has one sender", p.word, k.platform.word)
	}
	key, ok := p.key(secret)
	if !ok {
		return fmt.Errorf("%s: want %s", p.word, p.want)
	}
	k.platform, k.keys = p, append(k.keys, key)
	return nil
}

func visible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Verify judges the request's signature. received is when the request came, to the second,
// and not the time now, so that a request that was kept gets the same answer later. If it
// has signatures of both schemes, only that of Standard Webhooks counts.
func (r *Request) Verify(k Keys, received time.Time) envelope.Webhook {
	w := envelope.Webhook{Result: envelope.WebhookNone, Type: clipType(r.Type)}
	switch {
	case r.flaw != "":
		w.Result, w.Why = envelope.WebhookMalformed, r.flaw
	case k.platform != nil:
		r.verifyPlatform(&w, k, received)
	case r.values[fieldSignature] != "":
		w.Scheme = envelope.WebhookStandard
		r.verifyStandard(&w, k.standard, received)
	case r.values[fieldPlain] != "":
		w.Scheme = envelope.WebhookPlain
		r.verifyPlain(&w, k.plain)
	}
	return w
}

// maxType is how long a Content-Type may be to be repeated, in bytes.
const maxType = 127

func clipType(s string) string {
	if len(s) > maxType || !visible(s) {
		return ""
	}
	return s
}

// verifyStandard tries every secret on every signature of version v1. It takes equally
// long whichever of them is good.
func (r *Request) verifyStandard(w *envelope.Webhook, keys [][]byte, received time.Time) {
	signed := r.values[fieldTimestamp]
	at, ok := timestamp(signed)
	signatures := strings.Fields(r.values[fieldSignature])
	switch {
	case r.ID == "":
		w.Result, w.Why = envelope.WebhookMalformed, "webhook-id is missing"
		return
	case !ok:
		w.Result, w.Why = envelope.WebhookMalformed, "webhook-timestamp is not a number of seconds"
		return
	case len(signatures) > maxSignatures:
		w.Result, w.Why = envelope.WebhookMalformed, "webhook-signature holds over 32 signatures"
		return
	}
	w.Timestamp = at
	good := false
	for _, key := range keys {
		mac := sum(key, r.ID, ".", signed, ".", string(r.Body))
		want := []byte("v1," + base64.StdEncoding.EncodeToString(mac))
		for _, s := range signatures {
			match := hmac.Equal(want, []byte(s))
			good = good || match
		}
	}
	conclude(w, good, fieldSignature, len(keys), received)
}

// conclude says what a signature is worth, good or not, whose time is known if it has one.
func conclude(w *envelope.Webhook, good bool, field string, keys int, received time.Time) {
	switch off := w.Timestamp.Sub(received.Truncate(time.Second)); {
	case !good:
		w.Result, w.Why = envelope.WebhookFail, "no secret makes the signature in "+field
		if keys == 0 {
			w.Why = "there is no secret for " + field
		}
	case w.Timestamp.IsZero():
		w.Result = envelope.WebhookPass
	case off.Abs() > tolerance:
		w.Result, w.Why = envelope.WebhookLate, fmt.Sprintf("it was signed %v before it came", -off)
		if off > 0 {
			w.Why = fmt.Sprintf("it was signed %v after it came", off)
		}
	default:
		w.Result = envelope.WebhookPass
	}
}

// verifyPlain judges the one signature of X-Pulse-Signature, over the body alone.
func (r *Request) verifyPlain(w *envelope.Webhook, keys [][]byte) {
	got, err := hex.DecodeString(r.values[fieldPlain])
	if err != nil || len(got) != sha256.Size {
		w.Result, w.Why = envelope.WebhookMalformed, "X-Pulse-Signature is not 64 hexadecimal digits"
		return
	}
	good := false
	for _, key := range keys {
		match := hmac.Equal(sum(key, string(r.Body)), got)
		good = good || match
	}
	conclude(w, good, "X-Pulse-Signature", len(keys), time.Time{})
}

func sum(key []byte, pieces ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range pieces {
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

// timestamp parses seconds since 1970: only digits, the first of them not 0, and not more
// of them than a year before 10000 needs.
func timestamp(s string) (time.Time, bool) {
	if s == "" || s[0] == '0' || len(s) > 11 || strings.Trim(s, "0123456789") != "" {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return time.Unix(n, 0).UTC(), err == nil
}

// Platform reports whether the secrets are those of a platform, whose requests name their
// senders.
func (k Keys) Platform() bool { return k.platform != nil }

// MessageID returns the id by which the task of a request is named that no platform made. It is signed, because
// anyone who sends the request again can change the rest: the id of Standard Webhooks, or
// the digest of the body for X-Pulse-Signature.
func (r *Request) MessageID() string {
	if r.ID == "" || r.values[fieldSignature] == "" {
		return r.digest
	}
	return r.ID
}
