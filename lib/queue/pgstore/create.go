package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// Create makes a queue in a database that has none, and the roles of the server if they are
// missing. The login must be a superuser, or one that may create roles and schemas there. A
// queue that is there already stays as it is.
func Create(ctx context.Context, name string, unsafe bool) error {
	cfg, err := parse(name)
	if err != nil {
		return err
	}
	s := &Store{name: name, cfg: cfg}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return s.fail(err)
	}
	defer conn.Close(ctx)
	sql := Roles + Schema
	if unsafe {
		sql += "UPDATE pulse.queue SET unsafe = true;"
	}
	err = conn.Exec(ctx, sql+"ANALYZE;").Close() // in one transaction
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42P06" { // there is a schema of this name
		return nil
	}
	return s.fail(err)
}
