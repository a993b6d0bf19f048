package approval

import (
	"errors"
	"time"

	"pulse/lib/shared/address"
	"pulse/lib/shared/record"
)

// The bounds of a session: how long it lives, and how many messages may use it.
const (
	LeastSession = time.Minute
	MostSession  = 24 * time.Hour
	MostUses     = 100
)

// Kept is how long a signed session is kept after it expired. The session is proven
// again where an ask starts, and mail that arrived within the session may start until
// then.
const Kept = 24 * time.Hour

// Session is a person's yes given ahead to an owner's mail. While it lives, such mail
// counts as terms.ApprovedSession.
type Session struct {
	ID      string
	Sender  string // an owner, as the policy spells the address
	Max     int    // how many messages may use it
	Left    int    // how many more messages may use it
	By      string
	Level   Level
	Opened  time.Time
	Expires time.Time // it is worthless from then on

	Signer    string // as in an approval
	Signature string // over the Statement

	Holder Holder // as in an approval
}

// Live reports whether a message may use the session now. It may not if the clock shows
// a time before the opening, because a clock that was set back is not a reason to trust.
func (s *Session) Live(now time.Time) bool {
	return s.Left > 0 && !now.Before(s.Opened) && now.Before(s.Expires)
}

// Over returns the time from which on the session is no longer needed.
func (s *Session) Over() time.Time {
	if s.Level == Signature {
		return s.Expires.Add(Kept)
	}
	return s.Expires
}

// UsedUp reports whether the session is no longer needed because it has no use left. A
// signed session still is, because it is proven again where an ask starts.
func (s *Session) UsedUp() bool { return s.Left == 0 && s.Level != Signature }

// Suffices reports whether the session was opened at the level that a policy requires,
// or at a higher one.
func (s *Session) Suffices(require Level) bool { return s.Level.suffices(require) }

// Covers reports whether a message may use the session: a use is left, and the message
// lies within the session.
func (s *Session) Covers(sender string, date, received, fetched time.Time) bool {
	return s.Left > 0 && s.Within(sender, date, received, fetched)
}

// Within reports whether a message belongs to the session. The sender, who must be
// proven, is the session's. By the message's own Date and by its server the message was
// dated and received between opening and expiry, and not after it was fetched. Within
// asks no clock, so that a saved record gets the same answer later.
func (s *Session) Within(sender string, date, received, fetched time.Time) bool {
	inside := func(t time.Time) bool {
		return !t.Before(s.Opened) && !t.After(s.Expires) && !t.After(fetched)
	}
	return address.Equal(s.Sender, sender) && inside(date) && inside(received)
}

// Append appends the session as an object.
func (s *Session) Append(dst []byte) []byte {
	var o record.Object
	o.Str("id", s.ID)
	o.Str("sender", s.Sender)
	o.Int("max", int64(s.Max))
	o.Int("left", int64(s.Left))
	o.Str("by", s.By)
	o.Str("level", string(s.Level))
	o.Time("opened", s.Opened)
	o.Time("expires", s.Expires)
	o.StrIf("signer", s.Signer)
	o.StrIf("signature", s.Signature)
	return append(dst, o.Bytes()...)
}

// DecodeSession reads what Append wrote. A session without an id, a sender or bounds is
// an error.
func DecodeSession(v record.Value) (Session, error) {
	var s Session
	err := v.Each(record.To(
		"id", &s.ID, "sender", &s.Sender, "max", &s.Max, "left", &s.Left, "by", &s.By,
		"level", (*string)(&s.Level), "opened", &s.Opened, "expires", &s.Expires, "signer", &s.Signer,
		"signature", &s.Signature,
	))
	if err == nil {
		err = s.valid()
	}
	return s, err
}

func (s *Session) valid() error {
	switch {
	case s.ID == "" || s.Sender == "":
		return errors.New("a session has an id and a sender")
	case s.Max < 1 || s.Max > MostUses || s.Left < 0 || s.Left > s.Max:
		return errors.New("a session has a number of uses, and no more of them left")
	case s.Opened.IsZero() || !s.Opened.Before(s.Expires):
		return errors.New("a session expires after it was opened")
	}
	return nil
}
