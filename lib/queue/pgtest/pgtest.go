package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/queue/pgstore"
)

// Super is the superuser of a server.
const Super = "root"

// logins are what New's databases know, besides Super: one login for each role, a machine
// that is gate, runner and sender in one, and one that is a person besides.
const logins = `
CREATE ROLE gate1 LOGIN IN ROLE pulse_gate;
CREATE ROLE runner1 LOGIN IN ROLE pulse_runner;
CREATE ROLE sender1 LOGIN IN ROLE pulse_sender;
CREATE ROLE ann LOGIN IN ROLE pulse_approver;
CREATE ROLE reader1 LOGIN IN ROLE pulse_reader;
CREATE ROLE machine1 LOGIN IN ROLE pulse_gate, pulse_runner, pulse_sender;
CREATE ROLE machine2 LOGIN IN ROLE pulse_gate, pulse_runner, pulse_sender;
CREATE ROLE all1 LOGIN IN ROLE pulse_gate, pulse_runner, pulse_sender, pulse_approver;
CREATE ROLE nobody1 LOGIN`

// template is the database that the others are copies of.
const template = "pulse_template"

var one struct {
	sync.Once
	server *Server
	err    error
	n      atomic.Int64
}

// DB is a database with a queue in which nothing has happened.
type DB struct {
	*Server
	Name string
}

// New returns a new database. The test is skipped if PostgreSQL is not installed.
func New(tb testing.TB) *DB {
	tb.Helper()
	need(tb)
	one.Do(func() { one.server, one.err = start() })
	if one.err != nil {
		tb.Fatal(one.err)
	}
	return one.server.database(tb, template)
}

func need(tb testing.TB) {
	if bin() == "" {
		tb.Skip("NOT TRIED: a queue on PostgreSQL, because no PostgreSQL is installed below /usr/lib/postgresql (apt-get install postgresql)")
	}
}

// Clone returns a copy of the database, to which nobody may be connected.
func (d *DB) Clone(tb testing.TB) *DB { return d.database(tb, d.Name) }

// database returns a new database that is a copy of another one.
func (s *Server) database(tb testing.TB, of string) *DB {
	tb.Helper()
	d := &DB{s, fmt.Sprintf("test%d", one.n.Add(1))}
	if err := d.run("postgres", "CREATE DATABASE "+d.Name+" TEMPLATE "+of); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.run("postgres", "DROP DATABASE "+d.Name+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// start starts a server with a template.
func start() (*Server, error) {
	s, err := create()
	for _, step := range []func() error{s.initdb, s.start, s.prepare} {
		if err == nil {
			err = step()
		}
	}
	return s, err
}

// dba is who makes the queue, with the rights that a hosted server gives its customers.
const dba = "dba1"

// prepare makes the roles, the logins and the template.
func (s *Server) prepare() error {
	err := s.run("postgres", "CREATE ROLE "+dba+" LOGIN CREATEROLE")
	if err == nil {
		err = s.run("postgres", "CREATE DATABASE "+template+" OWNER "+dba)
	}
	if err == nil {
		err = pgstore.Create(context.Background(), s.dsn(dba, template), false)
	}
	if err == nil {
		err = s.run(template, logins)
	}
	return err
}

// DSN returns the name of the queue for a login.
func (d *DB) DSN(login string) string { return d.dsn(login, d.Name) }

func (s *Server) dsn(login, db string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s", login, db, url.QueryEscape(s.Dir))
}

// Exec runs SQL as Super.
func (d *DB) Exec(tb testing.TB, sql string) {
	tb.Helper()
	if err := d.run(d.Name, sql); err != nil {
		tb.Fatal(err)
	}
}

// run runs SQL as Super in a database, in one transaction if that is possible.
func (s *Server) run(db, sql string) error {
	ctx := context.Background()
	c, err := pgconn.Connect(ctx, s.dsn(Super, db))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return c.Exec(ctx, sql).Close()
}
