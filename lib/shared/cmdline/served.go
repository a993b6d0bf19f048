package cmdline

import (
	"strings"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/lazy"
)

// Served reports whether a name is not a directory's but that of a queue on a server.
func Served(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && (strings.EqualFold(scheme, "postgres") || strings.EqualFold(scheme, "postgresql"))
}

// sound matches the names of queues on servers that have no place for a password, however
// it is spelt: a colon stands before a port and in an IPv6 address, an @ after the user.
var sound = lazy.Regexp(`^postgres(ql)?://([^][:/?#@,]+@)?` +
	host + `(,` + host + `)*` + `(/[^:/?#@]*)?` + `(\?` + setting + `(&` + setting + `)*)?$`)

const (
	host    = `([^][:/?#@,]*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?`
	setting = `[a-z_]+=[^&#@]*`
)

// withoutPassword fails if the name of a queue on a server may hold a password, which every
// account of this machine could read. The message does not repeat the name.
func withoutPassword(name string) error {
	if !Served(name) || sound().MatchString(name) && !strings.Contains(name, "password=") {
		return nil
	}
	return fault.Usagef("a password belongs in ~/.pgpass, or in pg_service.conf: --queue 'postgres:///?service=NAME'",
		"--queue: a queue on a server is named postgres://USER@HOST/DATABASE, without a password")
}
