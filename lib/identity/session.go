package identity

import (
	"pulse/lib/approval"
	"pulse/lib/terms"
)

// session returns the session that a message belongs to, or nil. Only what an owner
// provably sent, lately and by hand, can belong to one.
func (e *evidence) session(id *Identity, sessions []approval.Session) *approval.Session {
	if len(sessions) == 0 || id.Trust != terms.OwnerVerifiedEmail || id.Stale || id.Automatic {
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
