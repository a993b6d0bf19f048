package pgstore

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/queue/seen"
	"pulse/lib/shared/fault"
)

// Open opens the queue of a name: postgres://[LOGIN@]HOST[,HOST2]/DATABASE[?service=NAME]. Of
// several hosts it takes the one that can be written.
func Open(ctx context.Context, name string) (*Store, error) {
	s, err := unconnected(name)
	if err != nil {
		return nil, err
	}
	return s, s.connect(ctx)
}

// unconnected reads a name, and what libpq's files say besides.
func unconnected(name string) (*Store, error) {
	cfg, err := parse(name)
	if err != nil {
		return nil, err
	}
	s := &Store{name: name, cfg: cfg, host: hostname(), state: seen.Dir(), runs: map[string]int64{}, taken: map[string]*hold{}}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = hostLimit
	}
	s.dial = cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !s.dials.Load() {
			return nil, errors.New("pgstore: nothing is cancelled")
		}
		return dialed(ctx, s.dial, network, addr)
	}
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { s.notices = append(s.notices, n.Message) }
	return s, nil
}

// patience is how long a statement may take that does not commit. It is longer than the
// server waits for the lock.
const patience = lockTimeout + 15*time.Second

// hostLimit is how long each host of the name may take to let this login in, unless libpq's
// connect_timeout says so. One that hangs must not use up the patience for the others.
const hostLimit = 5 * time.Second

// connect connects to the first server that can be written, and looks whether it is one.
func (s *Store) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var seen []row
	s.cfg.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		one := Store{conn: conn}
		all, err := one.ask(ctx, say(nowhereElse), say(whatServer), say("SELECT format, unsafe, (extract(epoch FROM made) * 1000000)::bigint FROM pulse.queue"))
		if len(all[1]) == 1 && yes(all[1][0][0]) {
			return errors.New("it is a standby")
		}
		if seen = nil; err == nil {
			seen = []row{all[1][0], all[2][0]}
		}
		return err
	}
	s.dials.Store(true)
	conn, err := pgconn.ConnectConfig(ctx, s.cfg)
	s.dials.Store(false)
	if err != nil {
		return s.fail(err)
	}
	s.conn, s.starts = conn, starts{}
	if err := s.greet(seen[0], seen[1]); err != nil {
		s.drop()
		return err
	}
	return nil
}

// nowhereElse lets names be looked up only where others can't put any: what they put elsewhere,
// this login would run. Behind a server between, each transaction has to say so itself.
const nowhereElse = "SET search_path = pg_catalog"

// whatServer asks who is at the other end, and who this is.
const whatServer = `SELECT pg_is_in_recovery(), current_setting('server_encoding'), current_setting('fsync'),
	current_setting('full_page_writes'), array_to_string(pulse.hats(session_user), ' ')`

// greet refuses a server that may lose or garble what it acknowledges, and a login that could
// do anything.
func (s *Store) greet(server, queue row) error {
	hats := string(server[4])
	switch {
	case string(server[1]) != "UTF8":
		return fault.Usagef("createdb --encoding=UTF8 --template=template0", "%s: the server's encoding is %s", s.name, server[1])
	case string(server[2]) != "on" || string(server[3]) != "on":
		return fault.Usagef("set fsync and full_page_writes to on", "%s: the server may lose what it acknowledges", s.name)
	case strings.Contains(hats, "owner"):
		return fault.Usagef("name a login of one role of pulse: man pulse-deploy", "%s: the login could change the queue's history", s.name)
	case num(queue[0]) != format:
		return fault.Usagef("install the pulse that made it: man pulse-deploy, Upgrade and downgrade",
			"%s: the queue's format is %d, and this pulse knows %d", s.name, num(queue[0]), format)
	}
	s.unsafe, s.made = yes(queue[1]), time.UnixMicro(num(queue[2])).UTC()
	s.reader, s.alone = hats == "reader", hats == approverAlone
	return nil
}

// drop closes the connection at once, and waits until that is done.
func (s *Store) drop() {
	if s.conn == nil {
		return
	}
	s.conn.Conn().Close()
	s.conn.Close(context.Background())
	<-s.conn.CleanupDone()
	s.conn = nil
}
