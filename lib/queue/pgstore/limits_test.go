package pgstore_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/shared/audit"
)

// found returns the findings of a code.
func found(t *testing.T, s *pgstore.Store, code string) (texts []string) {
	t.Helper()
	list, err := s.Conditions(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if string(f.Code) == code {
			texts = append(texts, f.Text)
		}
	}
	return texts
}

// connected returns a connection as a person's psql has it.
func connected(t *testing.T, d *pgtest.DB, login string) (*pgconn.PgConn, error) {
	t.Helper()
	c, err := pgconn.Connect(t.Context(), d.DSN(login))
	if err == nil {
		t.Cleanup(func() { c.Close(context.Background()) })
	}
	return c, err
}

// attacks are what a gate can do to all others, and what the server says to it with the limits.
var attacks = []struct{ name, sql, want string }{
	{"large objects fill the disk", "SELECT lo_create(0)", "permission denied"},
	{"a large object of bytes", "SELECT lo_from_bytea(0, 'x')", "permission denied"},
	{"advisory locks fill the table of locks", "SELECT count(pg_advisory_xact_lock_shared(i)) FROM generate_series(1, 10) i", "permission denied"},
	{"the other kind of them", "SELECT pg_try_advisory_lock(1)", "permission denied"},
	{"a temporary table", "CREATE TEMP TABLE t (a int)", "permission denied"},
	{"the lock, and a sleep", "SELECT pulse.lock(), pg_sleep(60)", "statement timeout"},
	{"the lock, and silence", "BEGIN; SELECT pulse.lock()", ""},
}

// TestLimits: what a login can stop all others with works until the limits are set, and not after
// that; the others go on, and so does what the login is for.
func TestLimits(t *testing.T) {
	d := pgtest.New(t)
	d.Exec(t, "CREATE ROLE greedy LOGIN IN ROLE pulse_gate")
	t.Cleanup(func() { d.Exec(t, "DROP OWNED BY greedy; DROP ROLE greedy") })
	s := open(t, d.DSN("machine1"))
	for _, a := range attacks[:5] {
		c, err := connected(t, d, "greedy")
		if err == nil {
			err = c.Exec(t.Context(), "BEGIN; "+a.sql+"; ROLLBACK").Close()
		}
		if err != nil {
			t.Errorf("%s, without limits: %v", a.name, err)
		}
	}
	if texts := found(t, s, "unlimited"); len(texts) != 1 || !strings.Contains(texts[0], "CONNECT of anybody") || !strings.Contains(texts[0], "timeouts of greedy") {
		t.Errorf("health: %q", texts)
	}
	d.Exec(t, pgstore.Limits)
	t.Cleanup(func() { // roles are the server's, and other tests use them
		d.Exec(t, `DO $$ DECLARE r record; BEGIN
			FOR r IN SELECT rolname FROM pg_roles WHERE rolconnlimit = 20 LOOP
				EXECUTE format('ALTER ROLE %I CONNECTION LIMIT -1', r.rolname);
				EXECUTE format('ALTER ROLE %I RESET ALL', r.rolname);
			END LOOP; END $$`)
	})
	if texts := found(t, s, "unlimited"); len(texts) != 0 {
		t.Errorf("health, with limits: %q", texts)
	}
	if _, err := connected(t, d, "nobody1"); err == nil {
		t.Error("a login without a role connects")
	}
	for _, a := range attacks {
		if a.want != "permission denied" { // which may take its time
			d.Exec(t, "ALTER ROLE greedy SET statement_timeout = '300ms'; ALTER ROLE greedy SET idle_in_transaction_session_timeout = '300ms'")
		}
		c, err := connected(t, d, "greedy")
		if err != nil {
			t.Fatal(err)
		}
		err = c.Exec(t.Context(), a.sql).Close()
		if a.want != "" && (err == nil || !strings.Contains(err.Error(), a.want)) {
			t.Errorf("%s: %v", a.name, err)
		}
		if err := queuetest.Brake(audit.Held).Do(s, queuetest.Epoch); err != nil {
			t.Errorf("%s: the others: %v", a.name, err)
		}
	}
	d.Exec(t, "ALTER ROLE greedy SET statement_timeout = '20s'")
	greedy := open(t, d.DSN("greedy"))
	if err := queuetest.Add(queuetest.Mails(1, 1)...).Do(greedy, queuetest.Epoch); err != nil {
		t.Error(err)
	}
	var err error
	for range 25 {
		if _, err = connected(t, d, "greedy"); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "too many connections for role") {
		t.Errorf("25 connections: %v", err)
	}
	open(t, d.DSN("machine2"))
}

// TestLockHeld: health names the login that keeps the lock although it was told not to, as far as
// this login may see, and a prepared transaction; once that is ended all go on.
func TestLockHeld(t *testing.T) {
	d := pgtest.New(t)
	defer pgstore.HeldFor("'0.3 s'")()
	c, err := connected(t, d, "gate1")
	if err != nil {
		t.Fatal(err)
	}
	results, err := c.Exec(t.Context(), "SET idle_in_transaction_session_timeout = 0; BEGIN; SELECT pg_backend_pid() FROM pulse.lock()").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	pid := string(results[len(results)-1].Rows[0][0])
	d.Exec(t, "GRANT pg_monitor TO reader1")
	t.Cleanup(func() { d.Exec(t, "REVOKE pg_monitor FROM reader1") })
	see, s := open(t, d.DSN("reader1")), open(t, d.DSN("machine1"))
	waits := make(chan error)
	go func() { waits <- queuetest.Brake(audit.Held).Do(s, queuetest.Epoch) }()
	limit := time.After(bound)
	for texts := []string(nil); !slices.ContainsFunc(texts, func(text string) bool {
		return strings.HasPrefix(text, "process "+pid+" of gate1 at ") && strings.HasSuffix(text, "SELECT pg_backend_pid() FROM pulse.lock()")
	}); {
		select {
		case <-limit:
			t.Fatalf("health: %q", texts)
		case err := <-waits:
			t.Fatalf("nobody waits: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		texts = found(t, see, "lock_held")
	}
	if texts := found(t, open(t, d.DSN("gate1")), "lock_held"); len(texts) != 1 {
		t.Errorf("without pg_monitor: %q", texts)
	}
	d.Exec(t, "SELECT pg_terminate_backend("+pid+")")
	if err := <-waits; err != nil {
		t.Error(err)
	}
	if c, err = connected(t, d, "gate1"); err == nil {
		_, err = c.Exec(t.Context(), "BEGIN; SELECT pulse.lock(); PREPARE TRANSACTION 'kept'").ReadAll()
	}
	if err != nil {
		t.Fatal(err)
	}
	const kept = "the prepared transaction kept of gate1 keeps its locks since "
	texts := found(t, s, "lock_held")
	d.Exec(t, "ROLLBACK PREPARED 'kept'")
	if len(texts) != 1 || !strings.HasPrefix(texts[0], kept) {
		t.Errorf("a prepared transaction: %q", texts)
	}
}
