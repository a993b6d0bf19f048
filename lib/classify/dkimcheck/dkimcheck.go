// Package dkimcheck verifies the DKIM signatures of a whole message (RFC 6376)
// and finds the DMARC record that applies to its sender's domain (RFC 9989). It believes
// nothing except DNS. What it finds becomes message.dkim; lib/classify/identity decides what
// that proves.
//
// Invariant: a signature that passes has one reading, the same in this package and in
// go-msgauth. It covers From, and Subject and Date if the message has them, each of which
// stands there once. It covers the whole body. It is by the domain of From, or by one whose
// Organizational Domain is known beside From's, unless the record rules such a one out. A
// name server that does not answer is an error, never a verdict.
//
// Caveats: Content-Type need not be signed, because the largest signers leave it out.
// So anyone who sends a signed message on may have its body read in another way; that
// copy has the id of the original, and becomes no second task. And go-msgauth compares
// x= with the clock of this machine too, so a message may expire between two runs.
package dkimcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/fetch/message"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// The bounds of what is looked at. A message that breaks one is not verified.
const (
	maxSignatures = 10       // the first ones are verified, the others counted
	maxSignature  = 32 << 10 // bytes of a DKIM-Signature field
	maxLines      = 1000     // of one header field: go-msgauth takes quadratic time for them
	maxNames      = 100      // in h=: each is looked for in the whole header
)

// Checker verifies messages. It keeps nothing from one message to the next.
type Checker struct {
	Resolver Resolver
	Lookup   time.Duration // limit for one question; 0 is 5 s
	Total    time.Duration // limit for all questions about one message; 0 is 20 s
}

// check is the verification of one message.
type check struct {
	dns    *lookups
	m      *envelope.Message
	from   string // the domain of From
	fields []string
	body   []byte
	found  []*signature
}

// Check verifies the message m, which message.Parse made of raw. A signature must be
// valid at m.Fetched. A message that can't be verified is not an error; the result says
// why.
//
// With ErrTemporary the result is complete all the same, so that a caller that has
// waited long enough for DNS can go on with it. It says temperror where a name server
// was silent, which proves nothing.
func (c *Checker) Check(ctx context.Context, m *envelope.Message, raw message.Raw) (*envelope.DKIM, error) {
	k := check{m: m}
	d := &envelope.DKIM{}
	if k.from, d.Why = identity.Author(m); d.Why != "" {
		return d, nil
	}
	k.fields, k.body = message.Fields(raw)
	if d.Why = k.unfit(raw); d.Why != "" {
		return d, nil
	}
	k.dns = c.begin(ctx)
	defer k.dns.cancel()
	d.From = k.from
	d.Omitted = k.collect()
	for _, s := range k.found {
		k.findKey(s)
	}
	k.verify()
	if k.passed() {
		d.DMARC = k.dmarc()
	}
	for _, s := range k.found {
		d.Signatures = append(d.Signatures, s.Signature)
	}
	return d, k.failure(ctx, d)
}

// mimeFields are the fields that say how the body is to be read. A second field of one
// name could say it differently, whether it is signed or not (RFC 2045 §3).
var mimeFields = []string{"mime-version", "content-type", "content-transfer-encoding"}

// unfit returns why the message can't be verified at all; empty if it can.
func (k *check) unfit(raw message.Raw) string {
	if raw.Partial || raw.Size > message.MaxMessage {
		return "the message was not fetched whole"
	}
	var seen []string
	for _, f := range k.fields {
		name := fieldName(f)
		if strings.Count(f, "\n") > maxLines {
			return fmt.Sprintf("a header field has more than %d lines", maxLines)
		}
		if !slices.Contains(mimeFields, name) {
			continue
		}
		if slices.Contains(seen, name) {
			return "the field " + name + " appears more than once"
		}
		seen = append(seen, name)
	}
	return ""
}

// fieldName returns the name of a field in lower case, without the blanks before
// its colon.
func fieldName(field string) string {
	name, _, _ := strings.Cut(field, ":")
	return address.Fold(strings.TrimRight(name, " \t"))
}

// collect reads the signatures and returns how many it left out.
func (k *check) collect() (omitted int) {
	for _, f := range k.fields {
		switch {
		case fieldName(f) != "dkim-signature":
		case len(k.found) == maxSignatures:
			omitted++
		default:
			s := &signature{}
			s.read(f)
			k.judge(s)
			k.found = append(k.found, s)
		}
	}
	return omitted
}

// passed reports whether any signature passed.
func (k *check) passed() bool {
	return slices.ContainsFunc(k.found, func(s *signature) bool { return s.Result == envelope.DKIMPass })
}

// failure returns the error of DNS if its answer could have made a difference. It could
// not if a signature by the very domain of From passed, because that satisfies every
// policy.
func (k *check) failure(ctx context.Context, d *envelope.DKIM) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	best := slices.ContainsFunc(k.found, func(s *signature) bool {
		return s.Result == envelope.DKIMPass && address.Equal(s.Domain, k.from)
	})
	silent := slices.ContainsFunc(k.found, func(s *signature) bool { return s.Result == envelope.DKIMTempError })
	if silent && !best || d.DMARC.Result == envelope.DMARCTempError {
		return k.dns.failed
	}
	return nil
}

// ErrTemporary reports that DNS did not answer. The same question may be answered
// later, so the error is a fault.Temporary.
var ErrTemporary = errors.New("DNS gives no answer")
