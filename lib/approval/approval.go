// Package approval is what a person said yes to: an approval of one task, or a
// grant for a target. It does no I/O; the queue keeps both.
//
// Invariant: an approval is good for the bytes that were shown and for nothing
// else; both are one-shot and expire. Caveat: at level terminal nothing here
// proves that a person was there (pulse-approve(1)); at level signature it is the
// signature over Statement that does, and others have to verify it.
package approval

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"pulse/lib/address"
	"pulse/lib/record"
	"pulse/lib/terms"
)

// Level is how hard an approval is to forge.
type Level string

// The levels.
const (
	Terminal  Level = "terminal"  // somebody typed a fresh code at a terminal
	User      Level = "user"      // under a uid the worker does not have
	Signature Level = "signature" // with a key the worker can't use
)

// Lifetime is how long an approval or a grant is good unless said otherwise.
const Lifetime = 24 * time.Hour

// Approval is a person's yes to one task.
type Approval struct {
	Task, Digest string
	Action       terms.Action
	Target       []string
	By           string
	Level        Level
	Nonce        string
	Given        time.Time
	Expires      time.Time
	Signer       string // at level signature: whose key, in the words of allowed_signers
	Signature    string // over the Statement: SSHSIG, armored
}

// levels are from easy to hard to forge.
var levels = []Level{Terminal, User, Signature}

// Good returns why the approval can't be used for a task with this digest at this
// time under a policy that requires a level, or nil.
func (a *Approval) Good(digest string, require Level, now time.Time) error {
	switch {
	case !slices.Contains(levels, a.Level) || !slices.Contains(levels, require) ||
		slices.Index(levels, a.Level) < slices.Index(levels, require):
		return fmt.Errorf("approval: it is of level %s, the policy requires %s", a.Level, require)
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
	o.Str("by", a.By)
	o.Str("level", string(a.Level))
	o.Str("nonce", a.Nonce)
	o.Time("given", a.Given)
	o.Time("expires", a.Expires)
	o.StrIf("signer", a.Signer)
	o.StrIf("signature", a.Signature)
	return append(dst, o.Bytes()...)
}

// Decode reads what Append wrote.
func Decode(v record.Value) (Approval, error) {
	var a Approval
	err := v.Each(func(name string, v record.Value) error {
		switch name {
		case "task":
			return v.Into(&a.Task)
		case "digest":
			return v.Into(&a.Digest)
		case "action":
			return v.Into((*string)(&a.Action))
		case "target":
			return v.Into(&a.Target)
		case "by":
			return v.Into(&a.By)
		case "level":
			return v.Into((*string)(&a.Level))
		case "nonce":
			return v.Into(&a.Nonce)
		case "given":
			return v.Into(&a.Given)
		case "expires":
			return v.Into(&a.Expires)
		case "signer":
			return v.Into(&a.Signer)
		case "signature":
			return v.Into(&a.Signature)
		}
		return nil
	})
	return a, err
}

// Grant is a person's yes given ahead, for one use.
type Grant struct {
	ID      string
	Target  string // empty: any target
	Task    string // empty: any task
	By      string
	Level   Level
	Given   time.Time
	Expires time.Time
}

// Append appends the grant as an object.
func (g *Grant) Append(dst []byte) []byte {
	var o record.Object
	o.Str("id", g.ID)
	o.StrIf("target", g.Target)
	o.Bool("any", g.Target == "")
	o.StrIf("task", g.Task)
	o.Str("by", g.By)
	o.Str("level", string(g.Level))
	o.Time("given", g.Given)
	o.Time("expires", g.Expires)
	return append(dst, o.Bytes()...)
}

// DecodeGrant reads what Append wrote. A grant without a target must say that it
// is for any.
func DecodeGrant(v record.Value) (Grant, error) {
	var g Grant
	anyTarget := false
	err := v.Each(func(name string, v record.Value) error {
		switch name {
		case "id":
			return v.Into(&g.ID)
		case "target":
			return v.Into(&g.Target)
		case "any":
			return v.Into(&anyTarget)
		case "task":
			return v.Into(&g.Task)
		case "by":
			return v.Into(&g.By)
		case "level":
			return v.Into((*string)(&g.Level))
		case "given":
			return v.Into(&g.Given)
		case "expires":
			return v.Into(&g.Expires)
		}
		return nil
	})
	if err == nil && (g.Target == "") != anyTarget {
		err = fmt.Errorf("a grant is for a target or for any, never both or neither")
	}
	return g, err
}

// Match returns the grant to spend on a target for a task, the most specific
// first: (target, task), (target, -), (any, task), (any, -). One that is bound to
// a task is never spent without it; one that expired, never.
func Match(grants []Grant, target, task string, now time.Time) (Grant, bool) {
	best, rank := Grant{}, 4
	for _, g := range grants {
		if !now.Before(g.Expires) || g.Task != "" && g.Task != task ||
			g.Target != "" && !address.Equal(g.Target, target) {
			continue
		}
		r := 0
		if g.Target == "" {
			r += 2
		}
		if g.Task == "" {
			r++
		}
		if r < rank || r == rank && g.Given.Before(best.Given) {
			best, rank = g, r
		}
	}
	return best, rank < 4
}

// Nonce returns 16 random hex digits: the id of a grant, the nonce of an approval.
func Nonce() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
