// Package dkimcheck verifies the DKIM signatures of a whole message (RFC 6376)
// and finds the DMARC record that applies to its sender's domain (RFC 9989). It believes
// nothing except DNS. What it finds becomes message.dkim; lib/classify/identity decides what
// that proves.
//
// Invariant: a signature that passes has one reading. It covers From, and Subject and Date
// if the message has them, each of which stands there once. It covers the whole body. It is
// by the domain of From, or by one whose Organizational Domain is known beside From's,
// unless the record rules such a one out. A message takes no more time, signatures and
// lookups than its budget has, and a name server that does not answer, or a budget that is
// spent, proves nothing and refutes nothing.
//
// The hashes are made here and not by go-msgauth, which hashes the body again for each
// signature, in time quadratic in a run of blank lines, and can't be interrupted. It is the
// oracle of the tests.
//
// Caveat: Content-Type need not be signed, because the largest signers leave it out. What
// that means for the text is identity's to say (identity.unsigned).
package dkimcheck

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/fetch/message"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// The bounds of what is looked at. A signature beyond one is not verified.
const (
	maxSignatures = 10       // the first ones are verified, the others counted
	maxSignature  = 32 << 10 // bytes of a DKIM-Signature field
	maxNames      = 100      // in h=
	maxLookups    = 30       // questions about one message
)

// The limits of time, unless a Checker has others.
const (
	defaultLookup = 5 * time.Second
	defaultTotal  = 10 * time.Second
)

// Checker verifies messages, one at a time.
type Checker struct {
	Resolver Resolver
	Lookup   time.Duration // limit for one question; 0 is 5 s
	Total    time.Duration // limit for one message; 0 is 10 s

	// Aside is for all messages that stay unchecked, together, so that any number of them
	// leaves time for the others; 0 is no limit. One message gets at most a fifth of what
	// the others have left.
	Aside time.Duration
	used  time.Duration // of it
}

// budget returns how long a message may take.
func (c *Checker) budget() time.Duration {
	d := c.Total
	if d == 0 {
		d = defaultTotal
	}
	if c.Aside > 0 {
		d = min(d, (c.Aside-c.used)/5)
	}
	return d
}

// check is the verification of one message.
type check struct {
	dns    *lookups
	m      *envelope.Message
	from   string              // the domain of From
	named  map[string][]string // the fields by their names in lower case
	body   []byte
	bodies [2][]byte // its hashes, once they are known: simple and relaxed
	found  []*signature
}

// Check verifies the message m, which message.Parse made of raw. A signature must be
// valid at m.Fetched. A message that can't be verified is not an error; the result says
// why. It says temperror where a domain's name servers were silent or the budget of the
// message was spent. That proves nothing.
//
// The errors are that of ctx, within a second of its end, and ErrTemporary.
func (c *Checker) Check(ctx context.Context, m *envelope.Message, raw message.Raw) (*envelope.DKIM, error) {
	begin := time.Now()
	k := check{m: m, named: map[string][]string{}}
	d := &envelope.DKIM{}
	if k.from, d.Why = identity.Author(m); d.Why != "" {
		return d, nil
	}
	fields, body := message.Fields(raw)
	for _, f := range fields {
		name := fieldName(f)
		k.named[name] = append(k.named[name], f)
	}
	k.body = body
	if d.Why = k.unfit(raw); d.Why != "" {
		return d, nil
	}
	k.dns = c.begin(ctx)
	defer k.dns.cancel()
	d.From = k.from
	d.Omitted = k.collect()
	for _, s := range k.found {
		k.checkBody(k.dns.ctx, s)
		k.findKey(s)
		k.checkHeader(k.dns.ctx, s)
	}
	if k.passed() {
		d.DMARC = k.dmarc()
	}
	for _, s := range k.found {
		d.Signatures = append(d.Signatures, s.Signature)
	}
	if k.unchecked(d) {
		c.used += time.Since(begin)
		return d, k.failure(ctx)
	}
	return d, ctx.Err()
}

// mimeFields are the fields that say how the body is to be read. A second field of one
// name could say it differently, whether it is signed or not (RFC 2045 §3).
var mimeFields = []string{"mime-version", "content-type", "content-transfer-encoding"}

// unfit returns why the message can't be verified at all; empty if it can.
func (k *check) unfit(raw message.Raw) string {
	if raw.Partial || raw.Size > message.MaxMessage {
		return "the message was not fetched whole"
	}
	for _, name := range mimeFields {
		if len(k.named[name]) > 1 {
			return "the field " + name + " appears more than once"
		}
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
	list := k.named["dkim-signature"]
	for _, f := range list[:min(len(list), maxSignatures)] {
		s := &signature{}
		s.read(f)
		k.judge(s)
		k.found = append(k.found, s)
	}
	return len(list) - len(k.found)
}

// passed reports whether any signature passed.
func (k *check) passed() bool {
	return slices.ContainsFunc(k.found, func(s *signature) bool { return s.Result == envelope.DKIMPass })
}

// unchecked reports whether an answer that is missing could have made a difference. It could
// not if a signature by the very domain of From passed, because that satisfies every
// policy.
func (k *check) unchecked(d *envelope.DKIM) bool {
	best := slices.ContainsFunc(k.found, func(s *signature) bool {
		return s.Result == envelope.DKIMPass && address.Equal(s.Domain, k.from)
	})
	silent := slices.ContainsFunc(k.found, func(s *signature) bool { return s.Result == envelope.DKIMTempError })
	return silent && !best || d.DMARC.Result == envelope.DMARCTempError
}

// failure returns the error of a message that stays unchecked: none if only the name
// servers of one domain failed, because anyone may have a domain.
func (k *check) failure(ctx context.Context) error {
	if k.dns.failed != nil && !k.dns.answers(ctx) && ctx.Err() == nil {
		return k.dns.failed
	}
	return ctx.Err()
}

// ErrTemporary reports that DNS answers no question at all, not even one that no sender
// chose. The same question may be answered later, so the error is a fault.Temporary.
var ErrTemporary = errors.New("DNS gives no answer")
