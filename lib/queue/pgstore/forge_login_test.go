package pgstore_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"pulse/lib/queue"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// login is a connection of a login, and nothing more.
func login(tb testing.TB, d *pgtest.DB, who string) *pgx.Conn {
	tb.Helper()
	c, err := pgx.Connect(context.Background(), d.DSN(who))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func execute(c *pgx.Conn, sql string) error {
	return c.PgConn().Exec(context.Background(), sql).Close()
}

// ask returns the first column of a query.
func ask(tb testing.TB, c *pgx.Conn, sql string) (list []string) {
	tb.Helper()
	rows, err := c.Query(context.Background(), sql)
	if err != nil {
		tb.Fatal(err)
	}
	list, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// TestWalls: no login may write a table, call what is inside, be another, or make anything
// where others would find it.
func TestWalls(t *testing.T) {
	d := pgtest.New(t)
	d.Exec(t, "REVOKE CREATE ON SCHEMA public FROM PUBLIC") // as pulse-deploy(7) does
	root := login(t, d, pgtest.Super)
	tables := ask(t, root, "SELECT relname::text FROM pg_class WHERE relnamespace = 'pulse'::regnamespace AND relkind = 'r'")
	inner := ask(t, root, `SELECT format('SELECT %s(%s)', oid::regproc, (SELECT string_agg('NULL::' || format_type(a, NULL), ', ' ORDER BY o) FROM unnest(proargtypes) WITH ORDINALITY x(a, o)))
		FROM pg_proc WHERE pronamespace = 'pulse'::regnamespace AND proname NOT IN ('lock', 'touch', 'beat', 'commit', 'kept', 'hats', 'now')`)
	outer := []string{"SELECT pulse.lock()", "SELECT pulse.touch()", "SELECT pulse.beat(1, '')", "SELECT pulse.commit(0, '{}', '{}', 0, '{}', '{}', '{}', '', 1)"}
	if len(tables) < 10 || len(inner) < 15 {
		t.Fatal(tables, inner)
	}
	roles := []string{"pulse_owner", "pulse_gate", "pulse_runner", "pulse_sender", "pulse_approver", "pulse_reader"}
	for who, has := range hats {
		if who == pgtest.Super {
			continue
		}
		c := login(t, d, who)
		never := slices.Clone(inner)
		for _, x := range tables {
			for _, sql := range []string{"INSERT INTO pulse.%s SELECT * FROM pulse.%[1]s", "DELETE FROM pulse.%s", "TRUNCATE pulse.%s", "LOCK pulse.%s IN ROW EXCLUSIVE MODE", "SELECT FROM pulse.%s FOR KEY SHARE",
				"ALTER TABLE pulse.%s ADD x int", "DROP TABLE pulse.%s", "CREATE INDEX ON pulse.%s ((1))", "COPY pulse.%s FROM STDIN", "CREATE RULE r AS ON INSERT TO pulse.%s DO NOTHING",
				"CREATE TRIGGER r AFTER INSERT ON pulse.%s EXECUTE FUNCTION suppress_redundant_updates_trigger()", "CREATE POLICY r ON pulse.%s"} {
				never = append(never, fmt.Sprintf(sql, x))
			}
		}
		never = append(never, "UPDATE pulse.queue SET held = false", "UPDATE pulse.task SET state = 'scheduled'", "UPDATE pulse.audit SET line = ''", "UPDATE pulse.thing SET shelf = 'approvals'", "UPDATE pulse.run SET until = now()",
			"CREATE TABLE pulse.x ()", "CREATE TABLE public.x ()", "CREATE SCHEMA x", "CREATE FUNCTION pulse.x() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE FUNCTION public.x() RETURNS int LANGUAGE sql AS 'SELECT 1'",
			"CREATE OR REPLACE FUNCTION pulse.refuse(why text) RETURNS void LANGUAGE plpgsql AS 'BEGIN END'", "DROP FUNCTION pulse.refuse", "ALTER FUNCTION pulse.commit SET search_path = public", "ALTER SCHEMA pulse RENAME TO x",
			"GRANT USAGE ON SCHEMA pulse TO PUBLIC WITH GRANT OPTION", "SET SESSION AUTHORIZATION ann2", "CREATE ROLE x", "SET session_replication_role = replica", "CREATE PUBLICATION x FOR ALL TABLES",
			"CREATE EVENT TRIGGER x ON ddl_command_end EXECUTE FUNCTION pulse.refuse()", "CREATE CAST (pulse.task AS text) WITH INOUT")
		for other := range hats {
			if other != who {
				never = append(never, "SET SESSION AUTHORIZATION "+other, "SET ROLE "+other)
			}
		}
		for _, r := range roles {
			if !strings.Contains(" "+has+" ", " "+r[6:]+" ") && !(who == "reader1" && r == "pulse_reader") {
				never = append(never, "SET ROLE "+r, "GRANT "+r+" TO "+who)
			}
		}
		if has == "" {
			never = append(never, outer...)
			never = append(never, "COPY (SELECT bytes FROM pulse.file) TO STDOUT", "SELECT bytes FROM pulse.thing", "SELECT * FROM pulse.thing", "SELECT f FROM pulse.file f", "TABLE pulse.file")
		}
		if who == "nobody1" {
			never = append(never, "SELECT pulse.kept('{}', '{}')")
			for _, x := range tables {
				never = append(never, "TABLE pulse."+x)
			}
		}
		for _, sql := range never {
			if err := execute(c, "BEGIN; "+sql); err == nil {
				t.Errorf("%s may: %s", who, sql)
			} else if k := code(err); !slices.Contains([]string{"42501", "22023", "42704", "42809", "0A000", "42883", "0LP01"}, k) {
				t.Errorf("%s: %s: %v", who, sql, err)
			}
			if err := execute(c, "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestShadows: what a login makes in its own session, or sets there, is not what the server's
// functions find.
func TestShadows(t *testing.T) {
	w, _ := base(t)
	lies := []string{
		"CREATE TEMP TABLE may (event text, hat text); INSERT INTO may VALUES ('released', 'gate'); SET LOCAL search_path = pg_temp, pulse, pg_catalog",
		"CREATE TEMP TABLE pg_roles (oid oid, rolname name, rolsuper bool); INSERT INTO pg_roles SELECT 1, session_user, false; SET LOCAL search_path = pg_temp, pg_catalog",
		"CREATE FUNCTION pg_temp.hats(name) RETURNS text[] LANGUAGE sql AS $$ SELECT '{approver}'::text[] $$; SET LOCAL search_path = pg_temp, pulse, pg_catalog",
		"CREATE FUNCTION pg_temp.eq(text, text) RETURNS bool LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR pg_temp.= (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_temp.eq); SET LOCAL search_path = pg_temp, pg_catalog",
		"CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT $1 $$; SET LOCAL search_path = pg_temp, pg_catalog",
		"CREATE DOMAIN pg_temp.jsonb AS text; SET LOCAL search_path = pg_temp, pg_catalog",
		"SET LOCAL standard_conforming_strings = off; SET LOCAL escape_string_warning = off", "SET LOCAL transform_null_equals = on", "SET LOCAL timezone = 'Asia/Tokyo'; SET LOCAL datestyle = 'German, DMY'; SET LOCAL intervalstyle = 'sql_standard'",
		"SET LOCAL quote_all_identifiers = on", "SET ROLE pulse_gate", "SET LOCAL client_min_messages = error; SET LOCAL array_nulls = off",
	}
	for _, lie := range lies {
		yes := w.legal(audit.Held, "machine1")
		yes.before = lie
		if _, err := w.try(yes); err != nil {
			t.Errorf("%s: %v", lie, err)
		}
		no := w.legal(audit.Released, "machine1")
		no.before = lie
		if _, err := w.try(no); code(err) != "PU002" {
			t.Errorf("%s: %v", lie, err)
		}
		late := w.legal(audit.Held, "machine1")
		late.before = lie
		late.steps[0].edit = func(raw string) string {
			return strings.Replace(raw, `"event"`, `"not_before":"2026-02-30T07:00:00Z","event"`, 1)
		}
		if _, err := w.try(late); err == nil {
			t.Errorf("%s: a time that is none", lie)
		}
	}
}

// TestBorrowed: whoever calls a function, the line is that of who has logged in.
func TestBorrowed(t *testing.T) {
	w, d := base(t)
	if err := w.exec("ROLLBACK; GRANT CREATE ON SCHEMA public TO ann, machine1"); err != nil {
		t.Fatal(err)
	}
	w.do(call{who: "ann", sql: `CREATE FUNCTION public.lend(line text) RETURNS void LANGUAGE sql SECURITY DEFINER AS
		$$ SELECT pulse.commit((SELECT seq FROM pulse.queue), ARRAY[line], '{0}', 0, '{}', '{}', '{}', '', 1) $$`})
	line := func() string {
		s := w.note("", audit.Released)
		return string(s.Append(nil))
	}
	for who, want := range map[string]string{"machine1": "PU002", "gate1": "PU002", "nobody1": "PU002", "ann": ""} {
		if err := execute(login(t, d, who), "SELECT public.lend('"+line()+"')"); code(err) != want {
			t.Errorf("%s: %v", who, err)
		}
		if err := execute(login(t, d, who), "DO $$ BEGIN PERFORM public.lend('"+line()+"'); END $$"); code(err) != want {
			t.Errorf("%s: %v", who, err)
		}
	}
	// Before PostgreSQL 15, a role may make others members of itself. That changes nobody's hats.
	defer d.Exec(t, "REVOKE machine1 FROM ann; REVOKE ann FROM machine1")
	for _, sql := range []string{"GRANT machine1 TO ann", "GRANT ann TO machine1"} {
		c := login(t, d, map[bool]string{true: "machine1", false: "ann"}[strings.HasPrefix(sql, "GRANT machine1")])
		if err := execute(c, sql); err != nil && code(err) != "42501" && code(err) != "0LP01" {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for who, want := range map[string]string{"ann": "{approver}", "machine1": "{gate,runner,sender}"} {
		if got := ask(t, login(t, d, pgtest.Super), "SELECT pulse.hats('"+who+"')::text"); got[0] != want {
			t.Errorf("%s is %s", who, got)
		}
	}
	ann := open(t, d.DSN("ann"))
	if err := ann.Vouch("role ann"); err != nil || ann.Level() != approval.User {
		t.Errorf("%v, level %s", err, ann.Level())
	}
}

// TestTrap: what others have put where names are looked up is not run by a client.
func TestTrap(t *testing.T) {
	d := pgtest.New(t)
	d.Exec(t, "GRANT CREATE ON SCHEMA public TO PUBLIC") // as it was before PostgreSQL 15
	err := execute(login(t, d, "machine1"), `CREATE FUNCTION public.array_to_string(text[], text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped %', session_user; END $$`)
	if err != nil {
		t.Fatal(err)
	}
	ann, s := open(t, d.DSN("ann")), open(t, d.DSN("machine1"))
	for _, op := range []queuetest.Operation{queuetest.Add(queuetest.Effect(1)), queuetest.Approve} {
		by := map[bool]store.Store{true: ann, false: s}[op.Name == "approve"]
		if err := op.Do(by, queuetest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	err = ann.View(func(v store.View) error {
		e, _, err := queuetest.First(v, task.Scheduled)
		if err == nil {
			_, err = queue.ApprovalOf(v, e.Task.ID)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestLateRoles: what counts are the roles at the commit, and not those at the beginning of its
// transaction, or of its wait for the lock.
func TestLateRoles(t *testing.T) {
	w, d := base(t)
	if err := w.exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	sender, super := *w, login(t, d, pgtest.Super)
	sender.c = login(t, d, "sender1")
	seen, err := strconv.ParseInt(ask(t, super, "SELECT seq::text FROM pulse.queue")[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for level, want := range map[string]string{"READ COMMITTED": "", "REPEATABLE READ": "PU002", "SERIALIZABLE": "PU002"} {
		if err := execute(sender.c, "BEGIN ISOLATION LEVEL "+level+"; TABLE pulse.queue"); err != nil {
			t.Fatal(err)
		}
		c := by("sender1", sender.start("e.yes"))
		if err := sender.call(context.Background(), &c, seen); code(err) != want {
			t.Errorf("%s: %v", level, err)
		}
		if err := execute(sender.c, "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
	line := w.note("", audit.Judged)
	if err := w.exec("BEGIN; SELECT FROM pulse.queue FOR UPDATE; REVOKE pulse_sender FROM all1"); err != nil {
		t.Fatal(err)
	}
	defer d.Exec(t, "GRANT pulse_sender, pulse_runner TO all1")
	late, done := login(t, d, "all1"), make(chan error)
	go func() {
		done <- execute(late, fmt.Sprintf("SELECT pulse.commit(%d, ARRAY['%s'], '{0}', 0, '{}', '{}', '{}', '', 1)", seen, line.Append(nil)))
	}()
	for len(ask(t, super, "SELECT 'x' FROM pg_locks WHERE NOT granted")) == 0 {
		runtime.Gosched()
	}
	if err := w.exec("REVOKE pulse_runner FROM all1; COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; code(err) != "PU002" {
		t.Errorf("a role that was taken during the wait: %v", err)
	}
}

// TestHuge: nobody can stage more than a client that reads it has room for.
func TestHuge(t *testing.T) {
	w, _ := base(t)
	for size, want := range map[int]string{128 << 20: "", 128<<20 + 1: "PU002"} {
		c := w.legal(audit.Held, "ann")
		c.args[6] = fmt.Sprintf("$$ || convert_to(repeat('x', %d), 'UTF8')", size)
		if _, err := w.try(c); code(err) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestTransactions: a commit is as good in whatever transaction it is made.
func TestTransactions(t *testing.T) {
	w, d := base(t)
	if err := w.exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	line := func(e task.Event, seen int) (string, int) {
		s := w.note("", e)
		return fmt.Sprintf("SELECT pulse.commit(%d, ARRAY['%s'], '{0}', 0, '{}', '{}', '{}', '', 1)", seen, s.Append(nil)), seen + 1
	}
	ann, other := login(t, d, "ann"), login(t, d, "machine1")
	head := func() int {
		n, err := strconv.Atoi(ask(t, ann, "SELECT seq::text FROM pulse.queue")[0])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	must := func(c *pgx.Conn, sql, want string) {
		t.Helper()
		if err := execute(c, sql); code(err) != want {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	begin := head()
	hold, held := line(audit.Held, begin)
	free, end := line(audit.Released, held)
	must(ann, "BEGIN; "+hold+"; "+free+"; COMMIT", "") // two in one
	must(ann, "BEGIN; "+hold+"; COMMIT", "PU001")
	must(ann, "ROLLBACK", "")
	hold, held = line(audit.Held, end)
	free, _ = line(audit.Released, end)
	must(ann, "BEGIN; SAVEPOINT a; "+free+"; ROLLBACK TO a; "+hold+"; SAVEPOINT b; COMMIT", "") // one of two
	if head() != held {
		t.Error("the log is not as long as what was committed")
	}
	for _, level := range []string{"REPEATABLE READ", "SERIALIZABLE"} { // an old picture
		hold, next := line(audit.Held, held)
		must(other, "BEGIN ISOLATION LEVEL "+level+"; SELECT seq FROM pulse.queue", "")
		must(ann, hold, "")
		stale, _ := line(audit.Held, held)
		must(other, stale, "40001")
		must(other, "ROLLBACK", "")
		held = next
	}
	hold, next := line(audit.Held, held)
	must(ann, "BEGIN; SELECT pulse.lock()", "")
	must(other, "SET lock_timeout = '50ms'", "")
	for _, sql := range []string{"SELECT pulse.lock()", "SELECT pulse.touch()", hold} {
		must(other, sql, "55P03")
	}
	must(ann, hold+"; COMMIT", "")
	must(other, hold, "PU001")
	if r, err := open(t, d.DSN("machine1")).Verify(""); err != nil || len(r.Findings) > 0 || head() != next {
		t.Errorf("%v, %+v", err, r)
	}
}
