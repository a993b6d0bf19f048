package pgstore

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/shared/redial"
)

// mostDials is how often a confined command connects again. decide asks at most once a second
// for as long as it is patient, each host in turn.
const mostDials = 300

// DialOutside makes the Store connect from now on by way of a second process, which is started
// here: this one is about to give up the right to connect. If that process can't be started,
// the Store says so when it has to connect again, which most commands never do.
func (s *Store) DialOutside() {
	var addresses []string
	add := func(host string, port uint16) {
		if _, address := pgconn.NetworkAddress(host, port); !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	add(s.cfg.Host, s.cfg.Port)
	for _, f := range s.cfg.Fallbacks {
		add(f.Host, f.Port)
	}
	d, err := redial.Start(mostDials, addresses...)
	s.dial = func(ctx context.Context, _, address string) (net.Conn, error) {
		if err != nil {
			return nil, err
		}
		return d.Dial(ctx, address)
	}
	s.cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
}

// turn counts the calls of Dial.
var turn atomic.Uint32

// Dial connects for DialOutside. It begins with another address of a host each time, because
// the one that answered the last time may be a standby.
func Dial(ctx context.Context, address string) (conn net.Conn, err error) {
	var d net.Dialer
	host, port, bad := net.SplitHostPort(address)
	if strings.HasPrefix(address, "/") || strings.HasPrefix(address, "@") || bad != nil {
		return d.DialContext(ctx, "unix", address)
	}
	all, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil, err
	}
	first := int(turn.Add(1)-1) % len(all)
	for _, ip := range slices.Concat(all[first:], all[:first]) {
		if conn, err = d.DialContext(ctx, "tcp", net.JoinHostPort(ip, port)); err == nil {
			break
		}
	}
	return conn, err
}
