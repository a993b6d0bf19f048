package pgstore

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/shared/fault"
)

// Without the standby that it was told to wait for, a server acknowledges nothing, and whoever
// waits for that has the queue's lock. So a command looks first, and gives up after a while.

// noStandby is SQL: nothing can be acknowledged.
const noStandby = "(current_setting('synchronous_standby_names') <> '' AND NOT EXISTS (SELECT FROM pg_stat_get_wal_senders()))"

// errNoStandby means that nothing can be acknowledged.
var errNoStandby = errors.New("no standby is connected, so nothing can be acknowledged")

// standbyLimit is how long a command waits for a standby that is not there: it may only have been
// started anew; replaced in tests.
var standbyLimit = 5 * time.Second

// alone reports whether an Update that began with these answers could be acknowledged by nobody.
func alone(answers [][]row) bool {
	const at = 2 // in beginUpdate
	return len(answers) > at && len(answers[at]) == 1 && yes(answers[at][0][0])
}

// noStandby says so, and what became of the Update.
func (s *Store) noStandby(became error) error {
	return fault.Temporaryf("mend the standby: man pulse-deploy, A server is lost", "%s: %w: %w", s.name, became, errNoStandby)
}

// watchStandby gives up a commit that waits while there is no standby, until it is told to end.
func (s *Store) watchStandby(giveUp func()) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for sleep(ctx, standbyLimit*3/5) {
			if s.looksAlone(ctx) {
				giveUp()
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// looksAlone asks on a connection of its own whether the server has no standby.
func (s *Store) looksAlone(ctx context.Context) (answer bool) {
	ctx, cancel := context.WithTimeout(ctx, hostLimit)
	defer cancel()
	cfg := s.cfg.Copy()
	cfg.OnNotice = nil
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dialed(ctx, s.dial, network, addr)
	}
	cfg.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		one := Store{conn: conn}
		all, err := one.ask(ctx, say(nowhereElse), say("SELECT pg_is_in_recovery(), "+noStandby))
		if err == nil && yes(all[1][0][0]) {
			err = errors.New("it is a standby")
		}
		answer = err == nil && yes(all[1][0][1])
		return err
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return false
	}
	conn.Close(ctx)
	return answer
}

// sleep waits, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
