package pgstore

import (
	"context"
	_ "embed"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/shared/fault"
)

// What an upgrade does before and after functions.sql.
var (
	//go:embed upgrade.sql
	upgradeSQL string
	//go:embed renew.sql
	renewSQL string
)

// leaveSQL ends what roles.sql began: nobody is the owner from day to day.
const leaveSQL = `RESET ROLE;
DO $$ BEGIN
  IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
    REVOKE pulse_owner FROM CURRENT_USER;
  END IF;
END $$;
`

// SQL is what Create runs, but for --unsafe.
func SQL() string { return roles + Schema + leaveSQL }

// Create makes a queue in a database that has none, and the roles of the server if they are
// missing. The login must be a superuser, or one that may create roles and schemas there. A
// queue that is there already stays as it is.
func Create(ctx context.Context, name string, unsafe bool) error {
	s, err := owner(ctx, name)
	if err != nil {
		return err
	}
	defer s.conn.Close(ctx)
	sql := SQL()
	if unsafe {
		sql += "UPDATE pulse.queue SET unsafe = true;"
	}
	err = s.conn.Exec(ctx, sql+"ANALYZE;").Close() // in one transaction
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42P06" { // there is a schema of this name
		return s.current(ctx)
	}
	return s.fail(err)
}

// owner connects as a login that could make the queue.
func owner(ctx context.Context, name string) (*Store, error) {
	cfg, err := parse(name)
	if err != nil {
		return nil, err
	}
	s := &Store{name: name, cfg: cfg}
	if s.conn, err = pgconn.ConnectConfig(ctx, cfg); err != nil {
		return nil, s.fail(err)
	}
	return s, nil
}

// current returns nil if the queue has the format of this pulse.
func (s *Store) current(ctx context.Context) error {
	all, err := s.ask(ctx, say("BEGIN"), say(becomeOwner), say("SET LOCAL ROLE pulse_owner"), say("SELECT format FROM pulse.queue"), say("ROLLBACK"))
	if err != nil {
		return s.fail(err)
	}
	return s.fits(num(all[3][0][0]))
}

// becomeOwner lets a login that made the roles be the owner until it leaves.
const becomeOwner = `DO $$ BEGIN
  IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
    GRANT pulse_owner TO CURRENT_USER;
  END IF;
END $$`

// upgradeHint says what to do about a queue that another pulse made.
func upgradeHint(name string) string {
	return "as who made it: pulse-queue init --upgrade --queue " + strconv.Quote(name)
}

// fits returns nil if a format is that of this pulse, and otherwise what to do.
func (s *Store) fits(have int64) error {
	switch {
	case have < format:
		return fault.Usagef(upgradeHint(s.name),
			"%s: an older pulse made the queue: its schema is %d, and this pulse needs %d", s.name, have, format)
	case have > format:
		return fault.Usagef("install the pulse that made it: man pulse-deploy, Upgrade and downgrade",
			"%s: a newer pulse made the queue: its schema is %d, and this pulse needs %d", s.name, have, format)
	}
	return nil
}

// Upgrade replaces the functions of a queue, and adds what its tables lack, in one transaction
// under the queue's lock. One that is of this format gets its functions and rights anew. A deadlock
// undoes all of it, and it is tried again.
func Upgrade(ctx context.Context, name string) (err error) {
	for range 3 {
		var pg *pgconn.PgError
		if err = upgrade(ctx, name); !errors.As(err, &pg) || pg.Code != "40P01" {
			return err
		}
	}
	return err
}

func upgrade(ctx context.Context, name string) error {
	s, err := owner(ctx, name)
	if err != nil {
		return err
	}
	defer s.conn.Close(ctx)
	all, err := s.ask(ctx, say("BEGIN"), say(becomeOwner), say("SET LOCAL ROLE pulse_owner"), say("SET LOCAL lock_timeout = '60s'"), say("SELECT format FROM pulse.queue FOR UPDATE"))
	if err != nil {
		return s.fail(err)
	}
	if num(all[4][0][0]) > format {
		return s.fits(num(all[4][0][0]))
	}
	err = s.conn.Exec(ctx, upgradeSQL+Schema[len(tablesSQL):]+renewSQL+leaveSQL+"COMMIT").Close()
	return s.fail(err)
}
