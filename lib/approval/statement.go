package approval

import (
	"fmt"
	"strings"
	"time"

	"pulse/lib/record"
)

// StatementVersion is the version of the form of a statement.
const StatementVersion = 1

// Statement returns the bytes that a person signs: one JSON object, its members in
// this order, without blanks and without a newline, times in UTC and whole seconds.
// Two approvals that differ in anything a start depends on have different ones; who
// typed the code and the level are not in it, for the signature says more.
func (a *Approval) Statement() []byte {
	var o record.Object
	o.Int("pulse-approve", StatementVersion)
	o.Str("task", a.Task)
	o.Str("digest", a.Digest)
	o.Str("action", string(a.Action))
	o.Strs("target", a.Target)
	o.Str("nonce", a.Nonce)
	o.Str("not_before", a.Given.UTC().Format(time.RFC3339))
	o.Str("expires", a.Expires.UTC().Format(time.RFC3339))
	return o.Bytes()
}

// The lengths of a nonce, in hex digits.
const (
	minNonce = 16
	maxNonce = 64
)

// Sound returns why an approval can't be one that was signed, whoever signed it,
// or that is not good yet; nil if the signature is worth looking at.
func (a *Approval) Sound(now time.Time) error {
	switch n := len(a.Nonce); {
	case a.Level != Signature || a.Signature == "" || a.Signer == "":
		return fmt.Errorf("approval: nobody signed it")
	case n < minNonce || n > maxNonce || strings.Trim(a.Nonce, "0123456789abcdef") != "":
		return fmt.Errorf("approval: its nonce is none")
	case a.Given.Nanosecond() != 0 || a.Expires.Nanosecond() != 0:
		return fmt.Errorf("approval: its times are not in whole seconds")
	case now.Before(a.Given):
		return fmt.Errorf("approval: it is good from %s on", a.Given.Format(time.RFC3339))
	case !now.Before(a.Expires):
		return fmt.Errorf("approval: it expired at %s", a.Expires.Format(time.RFC3339))
	}
	return nil
}
