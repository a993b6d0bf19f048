package pgstore

import (
	"fmt"
	"math"
	"strings"

	"pulse/lib/shared/approval"
)

const roleHolder = "role "

// role returns the holder that is a login.
func role(login string) approval.Holder { return approval.Holder(roleHolder + login) }

// Level returns what the server proves of this login: that it is an approver's, and can do
// nothing else.
func (s *Store) Level() approval.Level {
	if s.approver {
		return approval.User
	}
	return approval.Terminal
}

// Vouch returns nil if a holder is the login of an approver now, and has no other role.
func (s *Store) Vouch(h approval.Holder) error {
	login, ok := strings.CutPrefix(string(h), roleHolder)
	all, err := s.query(say(`SELECT coalesce(bool_and(r.rolname = 'pulse_approver'), false) FROM pg_roles u
		JOIN pg_roles r ON r.rolname ~ '^pulse_(owner|gate|runner|sender|approver)$' AND pg_has_role(u.oid, r.oid, 'MEMBER')
		WHERE u.rolname = $1 AND NOT u.rolsuper`, login))
	if err == nil && (!ok || !yes(all[0][0][0])) {
		err = fmt.Errorf("%s is not an approver's login alone", h)
	}
	return err
}

// LogSize returns how much of the server's disk the log takes, in bytes.
func (s *Store) LogSize() int64 {
	all, err := s.query(say("SELECT pg_total_relation_size('pulse.audit')"))
	if err != nil {
		return 0
	}
	return num(all[0][0][0])
}

// Room returns nil: the server says when its disk is full, before anything is lost.
func (s *Store) Room(int64) error { return nil }

// Spare returns how much may be kept of refused records: as much as their own bounds let.
func (s *Store) Spare(int64) int64 { return math.MaxInt64 }
