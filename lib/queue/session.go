package queue

import (
	"errors"
	"fmt"
	"time"

	"pulse/lib/queue/clock"
	"pulse/lib/queue/store"
	"pulse/lib/shared/address"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// ErrNoSession means that the queue does not have a session.
var ErrNoSession = errors.New("no session")

// The reasons for which a session ends.
const (
	endRevoked  = "revoked"  // by a person
	endExpired  = "expired"  // its time was over
	endReplaced = "replaced" // another one was opened for the same sender
)

// OpenSession records a session that a person opened. A sender has one at a time, so the
// one before ends, unless it has expired and is only kept for what came in within it.
func OpenSession(tx *Tx, s approval.Session) error { return TakeSession(tx, s, s.Opened) }

// TakeSession is OpenSession for one that was signed elsewhere, earlier.
func TakeSession(tx *Tx, s approval.Session, now time.Time) error {
	c, err := ClockOf(tx, now)
	if err != nil {
		return err
	}
	now = c.Now
	live, err := sessions(tx, &c)
	if err != nil {
		return err
	}
	for _, old := range live {
		if address.Equal(old.Sender, s.Sender) && now.Before(old.Expires) {
			if err := tx.Log(end(old, endReplaced, s.By, s.Level, now)); err != nil {
				return err
			}
		}
	}
	return tx.Log(audit.Line{Time: now, Event: audit.SessionOpened, By: s.By, Level: s.Level, Session: &s})
}

// EndSession ends a session.
func EndSession(tx *Tx, id, by string, level approval.Level, now time.Time) error {
	list, err := SessionsOf(tx)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].ID == id {
			return tx.Log(end(&list[i], endRevoked, by, level, now.UTC()))
		}
	}
	return fmt.Errorf("%w %s", ErrNoSession, id)
}

func end(s *approval.Session, reason, by string, level approval.Level, now time.Time) audit.Line {
	line := audit.Line{Time: now, Event: audit.SessionEnded, By: by, Level: level, Session: s}
	line.Change.Reason = reason
	return line
}

// sessions returns the sessions that are still needed, by id, and ends the others, unless the
// clock is not believed.
func sessions(tx *Tx, c *clock.Clock) (map[string]*approval.Session, error) {
	list, err := SessionsOf(tx)
	if err != nil {
		return nil, err
	}
	live := map[string]*approval.Session{}
	for i := range list {
		s := &list[i]
		if c.Latest().Before(s.Over()) {
			live[s.ID] = s
			continue
		}
		if tx.doubts(c) {
			continue
		}
		if err := tx.Log(end(s, endExpired, "", "", c.Now)); err != nil {
			return nil, err
		}
	}
	return live, nil
}

// inSession reports whether the record is an ask that was decided on with the trust of a
// session. An effect has the trust of its ask, and the use that its ask took covers both.
func (c *Content) inSession() bool {
	return c.Kind() == task.Ask && c.Identity.Trust == terms.ApprovedSession
}

// spend takes a use from the session under which an ask was decided on. If this sender has
// no use left, the decision assumed more trust than there is now, and the task waits for a
// person, whatever was decided.
func (in *intake) spend(it *item) error {
	if !it.inSession() {
		return nil
	}
	s := in.sessions[it.Identity.Session]
	if s == nil || !s.Live(in.now) || !in.clock.Latest().Before(s.Expires) || !s.Suffices(in.Require) || !address.Equal(s.Sender, it.Identity.Sender) {
		it.receipt.State, it.receipt.Reason = task.Awaiting, store.ReasonSessionSpent
		return nil
	}
	s.Left--
	left := *s
	return in.tx.Log(audit.Line{Time: in.now, Event: audit.SessionUsed, Task: it.id, Session: &left})
}
