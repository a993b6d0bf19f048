package pgstore

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/safefile"
)

// roleHolder is what the holder of an answer begins with: the server notes whose login wrote
// the line, and no client can write another one's name there.
const roleHolder = "role "

func holder(login string) approval.Holder { return approval.Holder(roleHolder + login) }

// Holder returns what the server calls the answers of a login.
func (s *Store) Holder(login string) approval.Holder { return holder(login) }

// Me returns what the server calls the answers of this login.
func (s *Store) Me() approval.Holder { return holder(s.cfg.User) }

// approverAlone are the hats of a login that may say yes, and do nothing else.
const approverAlone = "approver"

// Level returns what the server proves of this login: that it is a person's, if it may say
// yes and do nothing else.
func (s *Store) Level() approval.Level {
	if s.alone {
		return approval.User
	}
	return approval.Terminal
}

// Vouch returns nil if a holder is a login that may say yes, and do nothing else.
func (s *Store) Vouch(h approval.Holder) error {
	login, ok := strings.CutPrefix(string(h), roleHolder)
	if !ok {
		return fmt.Errorf("%q is no login of this server", h)
	}
	asks := say("SELECT array_to_string(pulse.hats($1), ' ')", login)
	all, err := s.query(asks)
	if err != nil {
		return err
	}
	if s.in != nil { // many tasks have the yes of one person
		s.in.foreseen[asks.key()] = all[0]
	}
	if string(all[0][0][0]) != approverAlone {
		return fmt.Errorf("%s is not a login of pulse_approver alone", h)
	}
	return nil
}

// Answers returns nil if the server starts what reaches the outside on the yes of a holder: one
// that Vouch vouches for, or the owner, whose lines came with a copy from another queue.
func (s *Store) Answers(h approval.Holder) error {
	if h == holder("pulse_owner") {
		return nil
	}
	return s.Vouch(h)
}

// LogSize returns the size of the log at the server in bytes, 0 if it does not say.
func (s *Store) LogSize() int64 {
	all, err := s.query(say("SELECT pg_table_size('pulse.audit')"))
	if err != nil {
		return 0
	}
	return num(all[0][0][0])
}

// Room returns nil: a disk that is full is the server's to say.
func (s *Store) Room(int64) error { return nil }

// Spare returns how many bytes can be written, which the server does not say.
func (s *Store) Spare(int64) int64 { return 1 << 40 }

// Reachable reports whether an account of this machine could connect to the server, whatever
// it could do there. Only root can find out.
func (s *Store) Reachable(uid, gid int) bool {
	restore, err := safefile.As(uid, gid)
	if err != nil {
		return false
	}
	defer restore()
	network, address := pgconn.NetworkAddress(s.cfg.Host, s.cfg.Port)
	c, err := net.DialTimeout(network, address, time.Second)
	if err == nil {
		c.Close()
	}
	return err == nil
}
