package identity

import (
	"slices"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/terms"
)

// session returns the session that a message belongs to, or nil. Only mail that an
// owner provably sent, lately and by hand, can belong to one.
func (e *evidence) session(id *Identity, sessions []approval.Session) *approval.Session {
	if len(sessions) == 0 || id.Trust != terms.OwnerVerifiedEmail || id.Stale || id.Automatic || e.undated() {
		return nil
	}
	date, ok := e.date()
	if !ok {
		return nil
	}
	for i := range sessions {
		s := &sessions[i]
		if s.Suffices(approval.Level(e.p.Approval.Require)) && s.Covers(id.Sender, date, e.m.Received, e.m.Fetched) {
			return s
		}
	}
	return nil
}

// undated reports whether anyone could have changed Date, which would move a replay
// into a session.
func (e *evidence) undated() bool {
	return e.proof.unsigned.has(slotDate) && !slices.Contains(e.p.AcceptUnsigned, slotDate.String())
}

// Within reports whether a message of a sender lies in a session. It is asked again
// where an ask starts, and does not ask whether the session was used for the message.
func Within(m *envelope.Message, sender string, s *approval.Session) bool {
	if m == nil {
		return false
	}
	e := evidence{m: m, header: collect(m)}
	date, ok := e.date()
	return ok && s.Within(sender, date, m.Received, m.Fetched)
}
