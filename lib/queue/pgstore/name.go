package pgstore

import (
	"net"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/shared/fault"
)

const nameHint = "postgres://LOGIN@HOST1,HOST2/DATABASE, or postgres:///?service=NAME; the rest in pg_service.conf and .pgpass"

// parse reads the name of a queue. Its errors are usage errors and never repeat a password.
func parse(name string) (*pgconn.Config, error) {
	scheme, authority, ok := strings.Cut(name, "://")
	ok = ok && (scheme == "postgres" || scheme == "postgresql")
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	if i := strings.LastIndexByte(authority, '@'); !ok || i >= 0 && strings.Contains(authority[:i], ":") {
		return nil, fault.Usagef(nameHint, "the name of a queue is a postgres URL without a password")
	}
	opts := pgconn.ParseConfigOptions{ConnStringAllowedKeys: []string{"user", "host", "port", "dbname", "service"}}
	cfg, err := pgconn.ParseConfigWithOptions(name, opts)
	if err != nil {
		return nil, fault.Usagef(nameHint, "bad name of a queue: %w", err)
	}
	verified := safe(cfg.Host, cfg)
	for _, f := range cfg.Fallbacks {
		verified = verified && safe(f.Host, &pgconn.Config{TLSConfig: f.TLSConfig})
	}
	if !verified {
		return nil, fault.Usagef("set sslmode=verify-full in pg_service.conf, or PGSSLMODE=verify-full",
			"%s: not on this machine, and the server's certificate would not be verified", name)
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "pulse"
	}
	return cfg, nil
}

// safe reports whether nobody can pass for the server at a host: it is a socket, this
// machine, or proves its name.
func safe(host string, cfg *pgconn.Config) bool {
	ip := net.ParseIP(host)
	if filepath.IsAbs(host) || strings.HasPrefix(host, "@") || host == "localhost" || ip != nil && ip.IsLoopback() {
		return true
	}
	return cfg.TLSConfig != nil && !cfg.TLSConfig.InsecureSkipVerify
}
