// Package approval holds what a person said yes to: an approval of one task, or, given
// ahead, a grant for a target or a session for an owner's mail. It does no I/O; the
// queue keeps all three.
//
// Invariant: an approval is good for the bytes that were shown and for nothing else.
// Approvals and grants can be used once, and all three expire. Caveat: at level terminal
// nothing here proves that a person was there (pulse-approve(1)). At level signature the
// signature over Statement proves it, and the caller has to verify that.
package approval

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// Level says how hard an approval is to forge.
type Level string

// The levels.
const (
	Terminal  Level = "terminal"  // a fresh code was typed at a terminal
	User      Level = "user"      // under a uid that the worker does not have
	Signature Level = "signature" // with a key that the worker can't use
)

// Lifetime is how long an approval or a grant is good by default.
const Lifetime = 24 * time.Hour

// LongestWait is how long a signed approval is good at most. One that is signed elsewhere is
// good while its task waits (limits.review_expires).
const LongestWait = 31 * 24 * time.Hour

// Approval is a person's yes to one task.
type Approval struct {
	Task, Digest string
	Action       terms.Action
	Target       []string
	Text         bool // it was asked whether the worker may have the text, in the place of an extract
	By           string
	Level        Level
	Nonce        string
	Given        time.Time
	Expires      time.Time
	Signer       string  // at level signature: whose key, in the words of allowed_signers
	Signature    string  // over the Statement: SSHSIG, armored
	Grants       []Grant // grants that were spent on it; then it bears no signature of its own

	// Holder is the only one that can have written the file, as the queue found it. It
	// is not written to the file.
	Holder Holder
}

// levels are in order, from easy to hard to forge.
var levels = []Level{Terminal, User, Signature}

// suffices reports whether a level is the required one or a higher one.
func (l Level) suffices(require Level) bool {
	return slices.Contains(levels, l) && slices.Contains(levels, require) &&
		slices.Index(levels, l) >= slices.Index(levels, require)
}

// Suffices reports whether a person said yes at the level that a policy requires, or
// at a higher one.
func (a *Approval) Suffices(require Level) bool { return a.Level.suffices(require) }

// Good returns nil if the approval can be used at the time now, under a policy that
// requires a level, for the task with the digest. Else the error says why not.
func (a *Approval) Good(digest string, require Level, now time.Time) error {
	switch {
	case !a.Level.suffices(require):
		return fmt.Errorf("approval: it is of level %s, the policy requires %s", a.Level, require)
	case require == User && a.Holder == "" && a.Level != Signature: // a signature stands for the account
		return fmt.Errorf("approval: nobody vouches for it, and the policy requires %s", require)
	case a.Digest != digest:
		return fmt.Errorf("approval: it was given for other bytes (%s)", a.Digest)
	case !now.Before(a.Expires):
		return fmt.Errorf("approval: it expired at %s", a.Expires.Format(time.RFC3339))
	}
	return nil
}

// Append appends the approval as an object.
func (a *Approval) Append(dst []byte) []byte {
	var o record.Object
	o.Str("task", a.Task)
	o.Str("digest", a.Digest)
	o.Str("action", string(a.Action))
	o.Strs("target", a.Target)
	o.BoolIf("text", a.Text)
	o.Str("by", a.By)
	o.Str("level", string(a.Level))
	o.Str("nonce", a.Nonce)
	o.Time("given", a.Given)
	o.Time("expires", a.Expires)
	o.StrIf("signer", a.Signer)
	o.StrIf("signature", a.Signature)
	if len(a.Grants) > 0 {
		o.Raw("grants", appendGrants(a.Grants))
	}
	return append(dst, o.Bytes()...)
}

// Decode reads what Append wrote.
func Decode(v record.Value) (Approval, error) {
	var a Approval
	err := v.Each(record.To(
		"task", &a.Task, "digest", &a.Digest, "action", (*string)(&a.Action), "target", &a.Target,
		"text", &a.Text, "by", &a.By, "level", (*string)(&a.Level), "nonce", &a.Nonce, "given", &a.Given,
		"expires", &a.Expires, "signer", &a.Signer, "signature", &a.Signature,
		"grants", func(v record.Value) error { return eachGrant(v, &a.Grants) },
	))
	return a, err
}

// Nonce returns 16 random hex digits: the id of a grant, the nonce of an approval.
func Nonce() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
