package approval

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"pulse/lib/shared/record"
)

// statementVersion is the version of the form of a statement.
const statementVersion = 1

// The first member of a statement says what it is, so that none can be taken for another.
const (
	sayYes     = "pulse-approve"
	sayNo      = "pulse-refuse"
	sayGrant   = "pulse-grant"
	saySession = "pulse-session"
)

// Statement returns the bytes that a person signs: one JSON object, its members in
// this order, without blanks, times in UTC and whole seconds, and a newline. Two
// approvals that differ in anything that a start depends on have different statements.
// The level and the name of the approver are not in it, because the signature proves
// more than they do.
func (a *Approval) Statement() []byte { return a.statement(sayYes) }

// Refusal returns the bytes that a person signs to say no to what Statement says yes to.
func (a *Approval) Refusal() []byte { return a.statement(sayNo) }

func (a *Approval) statement(what string) []byte {
	var o record.Object
	o.Int(what, statementVersion)
	o.Str("task", a.Task)
	o.Str("digest", a.Digest)
	o.Str("action", string(a.Action))
	o.Strs("target", a.Target)
	o.BoolIf("text", a.Text && what == sayYes)
	o.Str("nonce", a.Nonce)
	return ended(&o, a.Given, a.Expires)
}

// Statement returns the bytes that a person signs to give a grant, in the form of an
// approval's.
func (g *Grant) Statement() []byte {
	var o record.Object
	o.Int(sayGrant, statementVersion)
	o.Str("id", g.ID)
	o.Bool("any", g.Target == "")
	o.StrIf("target", g.Target)
	if g.Task != "" {
		o.Str("task", g.Task)
	} else {
		o.Raw("task", []byte("null"))
	}
	return ended(&o, g.Given, g.Expires)
}

// Statement returns the bytes that a person signs to open a session. How many uses are
// left is not among them, because the ledger counts those.
func (s *Session) Statement() []byte {
	var o record.Object
	o.Int(saySession, statementVersion)
	o.Str("id", s.ID)
	o.Str("sender", s.Sender)
	o.Int("max", int64(s.Max))
	return ended(&o, s.Opened, s.Expires)
}

// ended returns a statement with its last members and its newline.
func ended(o *record.Object, notBefore, expires time.Time) []byte {
	o.Str("not_before", notBefore.UTC().Format(time.RFC3339))
	o.Str("expires", expires.UTC().Format(time.RFC3339))
	return append(o.Bytes(), '\n')
}

// The lengths of a nonce, in hex digits.
const (
	minNonce = 16
	maxNonce = 64
)

// Sound returns nil if the signature is worth verifying. Else the error says why the
// approval can't be a signed one, or why it is not good now. An approval made of grants
// is sound if every grant is.
func (a *Approval) Sound(now time.Time) error {
	if len(a.Grants) == 0 {
		if a.Expires.Sub(a.Given) > LongestWait {
			return fmt.Errorf("approval: it is good for longer than %s", LongestWait)
		}
		return sound("approval", a.Level, a.Signer, a.Signature, a.Nonce, a.Given, a.Expires, now)
	}
	for i := range a.Grants {
		if err := a.Grants[i].Sound(now); err != nil {
			return err
		}
	}
	return nil
}

// Sound does for a grant what Approval.Sound does.
func (g *Grant) Sound(now time.Time) error {
	return sound("grant", g.Level, g.Signer, g.Signature, g.ID, g.Given, g.Expires, now)
}

// Sound does for a session what Approval.Sound does. The session is good until Kept has
// passed, because mail that arrived within it may start until then.
func (s *Session) Sound(now time.Time) error {
	if s.Expires.Nanosecond() != 0 {
		return errors.New("session: its times are not in whole seconds")
	}
	if err := s.valid(); err != nil {
		return err
	}
	return sound("session", s.Level, s.Signer, s.Signature, s.ID, s.Opened, s.Expires.Add(Kept), now)
}

func sound(what string, level Level, signer, signature, nonce string, given, expires, now time.Time) error {
	switch n := len(nonce); {
	case level != Signature || signature == "" || signer == "":
		return fmt.Errorf("%s: nobody signed it", what)
	case n < minNonce || n > maxNonce || strings.Trim(nonce, "0123456789abcdef") != "":
		return fmt.Errorf("%s: its nonce is none", what)
	case given.Nanosecond() != 0 || expires.Nanosecond() != 0:
		return fmt.Errorf("%s: its times are not in whole seconds", what)
	}
	return Timely(what, given, expires, now)
}

// Timely returns nil if what is good from one time to another is good now. Else the error
// says why not.
func Timely(what string, given, expires, now time.Time) error {
	switch {
	case now.Before(given):
		return fmt.Errorf("%s: it is good from %s on", what, given.Format(time.RFC3339))
	case !now.Before(expires):
		return fmt.Errorf("%s: it expired at %s", what, expires.Format(time.RFC3339))
	}
	return nil
}
