package pgstore_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/health"
	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
)

// altered are changes of what a queue holds, which the log does not know of.
var altered = []string{
	"UPDATE queue SET held = NOT held", "UPDATE queue SET counts = counts || '{\"failed\":77}'", "UPDATE queue SET kept = kept + 1",
	"UPDATE task SET state = 'completed', entry = NULL WHERE entry IS NOT NULL", "DELETE FROM task WHERE id = (SELECT min(id) FROM task)",
	"UPDATE task SET digest = 'sha256:' || repeat('0', 64)", "UPDATE task SET entry = repeat('x', 128) WHERE entry IS NOT NULL",
	"INSERT INTO task SELECT repeat('0', 32), added, n, seq, state, kind, action, digest, entry FROM task LIMIT 1",
	"UPDATE file SET bytes = bytes || 'x'", "DELETE FROM file", "INSERT INTO file VALUES (repeat('0', 32), 'x')",
	"DELETE FROM thing WHERE shelf = 'pruned'", "UPDATE thing SET seq = 1 WHERE shelf = 'positions'", "UPDATE thing SET bytes = 'x'",
	"UPDATE thing SET rest = '{}' WHERE shelf = 'labels'", "INSERT INTO thing VALUES ('approvals', repeat('0', 32), 1)",
	"DELETE FROM start", "UPDATE start SET at = 1", "INSERT INTO start VALUES (1, 1, '')", "INSERT INTO nonce VALUES ('x', 1)",
	"DELETE FROM nonce", "DELETE FROM run; UPDATE task SET state = 'running' WHERE state = 'scheduled'",
	"UPDATE audit SET line = replace(line, 'me@', 'you@') WHERE seq = 3", "DELETE FROM audit WHERE seq = 2", "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)",
}

// rewired are changes of what a queue is made of, of the logins beside the log, and of the roles.
var rewired = []string{
	"UPDATE may SET hat = 'gate' WHERE event = 'approved' AND hat = 'approver'", "UPDATE member SET forms = forms - 'uid'",
	"GRANT INSERT ON task TO pulse_gate", "GRANT UPDATE (seq) ON task TO pulse_gate", "GRANT SELECT ON may TO PUBLIC; GRANT EXECUTE ON FUNCTION put TO PUBLIC",
	"ALTER FUNCTION answers SECURITY DEFINER", "ALTER TABLE task OWNER TO gate1",
	"CREATE OR REPLACE FUNCTION pulse.answers(line bigint) RETURNS bool LANGUAGE sql STABLE AS 'SELECT true'",
	"CREATE FUNCTION pulse.more() RETURNS bool LANGUAGE sql AS 'SELECT true'; REVOKE ALL ON FUNCTION pulse.more FROM PUBLIC; ALTER FUNCTION pulse.more OWNER TO pulse_owner",
	"ALTER FUNCTION lock RESET search_path", "ALTER FUNCTION beat SET search_path = pg_temp, pg_catalog", "ALTER FUNCTION commit SET timezone = 'Europe/Berlin'",
	"ALTER FUNCTION answers VOLATILE", "ALTER FUNCTION commit STRICT", "GRANT CREATE ON SCHEMA pulse TO gate1",
	"ALTER TABLE nonce DROP CONSTRAINT nonce_pkey", "ALTER TABLE nonce DROP CONSTRAINT nonce_pkey; ALTER TABLE nonce ADD CONSTRAINT nonce_pkey PRIMARY KEY (nonce, seq)",
	"ALTER TABLE run DROP CONSTRAINT run_task_key", "ALTER TABLE run DROP CONSTRAINT run_task_key; CREATE UNIQUE INDEX run_task_key ON run (task)",
	"ALTER TABLE queue DROP CONSTRAINT queue_one_check", "ALTER TABLE file ALTER bytes DROP NOT NULL", "ALTER TABLE task ALTER n TYPE int",
	"ALTER TABLE thing ALTER rest SET DEFAULT '{}'", "DROP INDEX open", "CREATE INDEX more ON task (octet_length(entry))", "ALTER TABLE nonce SET UNLOGGED",
	"ALTER TABLE audit ENABLE ROW LEVEL SECURITY", "CREATE VIEW more AS SELECT FROM task", "TRUNCATE may, legal, member",
	"CREATE RULE r AS ON DELETE TO task DO INSTEAD NOTHING",
	"UPDATE audit SET who = 'bob' WHERE who = 'ann'", "UPDATE audit SET who = 'pulse_owner' WHERE seq = (SELECT max(seq) FROM audit)", "UPDATE audit SET who = 'machine2' WHERE seq = 1",
	"UPDATE audit SET alone = NOT alone WHERE line LIKE '%\"level\":%' AND line NOT LIKE '%\"grants\":%'", "UPDATE queue SET unsafe = true",
	"GRANT SELECT ON file TO pulse_reader", "GRANT SELECT ON file TO nobody1", "REVOKE SELECT ON task FROM pulse_gate", "GRANT SELECT (bytes) ON thing TO pulse_reader",
	"GRANT EXECUTE ON FUNCTION put TO pulse_gate", "GRANT EXECUTE ON FUNCTION commit TO nobody1", "GRANT EXECUTE ON FUNCTION commit TO pulse_gate WITH GRANT OPTION",
	"GRANT USAGE ON SCHEMA pulse TO nobody1", "ALTER ROLE pulse_owner LOGIN", "ALTER ROLE pulse_gate CREATEROLE", "GRANT pulse_owner TO nobody1",
	"CREATE FUNCTION public.e() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'; CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION public.e()",
	"CREATE TRIGGER r AFTER INSERT ON audit EXECUTE FUNCTION suppress_redundant_updates_trigger()", "ALTER FUNCTION put OWNER TO nobody1", "CREATE POLICY r ON task",
	"ALTER TABLE audit FORCE ROW LEVEL SECURITY", "ALTER SCHEMA pulse OWNER TO gate1",
	"CREATE OR REPLACE FUNCTION pulse.commit(seen bigint, lines text[], fences bigint[], unlisted int, shelves text[], keys text[], blobs bytea[], host text, mark bigint) RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET standard_conforming_strings = on SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS 'BEGIN RETURN NULL; END'",
	"CREATE FUNCTION pulse.commit(text) RETURNS void LANGUAGE sql SECURITY DEFINER AS ''; REVOKE ALL ON FUNCTION pulse.commit(text) FROM PUBLIC; ALTER FUNCTION pulse.commit(text) OWNER TO pulse_owner",
	"CREATE TABLE public.more () INHERITS (may); GRANT INSERT ON public.more TO gate1", "ALTER FUNCTION touch SECURITY INVOKER",
	"ALTER ROLE pulse_approver LOGIN", "ALTER ROLE pulse_owner CREATEROLE", "GRANT TRUNCATE ON audit TO ann", "REVOKE EXECUTE ON FUNCTION commit FROM pulse_sender",
	"CREATE OR REPLACE FUNCTION pulse.now(client timestamptz, log timestamptz) RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT client::timestamptz'",
}

// TestVerify: after a life with everything in it, the tables are what store.Changes makes of
// the log, which is another program than the server's; and whatever a superuser changes is
// found. Health finds what needs no look at all things.
func TestVerify(t *testing.T) {
	d := pgtest.New(t)
	c := castOf(t, d)
	if err := queuetest.Same(c, played(queuetest.Life)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []store.Store{c.Store, c.ann, c.both} {
		s.(*pgstore.Store).Close()
	}
	if verified, healthy := findings(t, d); len(verified)+len(healthy) != 0 {
		t.Fatalf("%d findings: %s", len(verified), append(verified[:min(10, len(verified))], healthy...))
	}
	for i, sql := range slices.Concat(altered, rewired) {
		if testing.Short() && i%4 != 0 {
			continue
		}
		forged := d.Clone(t)
		forged.Exec(t, "SET search_path = pulse, pg_catalog; "+sql)
		verified, healthy := findings(t, forged)
		if len(verified) == 0 || i >= len(altered) && len(healthy) == 0 {
			t.Errorf("verify finds %q, health %q: %s", verified, healthy, sql)
		}
		if strings.Contains(sql, " ROLE pulse_") || strings.HasPrefix(sql, "GRANT pulse_owner") { // roles are the server's
			forged.Exec(t, "ALTER ROLE pulse_owner NOLOGIN NOCREATEROLE; ALTER ROLE pulse_gate NOCREATEROLE; ALTER ROLE pulse_approver NOLOGIN; REVOKE pulse_owner FROM nobody1")
		}
	}
}

// findings returns what verify finds, and what health does of the log and the schema.
func findings(t *testing.T, d *pgtest.DB) (verified, healthy []string) {
	s, err := pgstore.Open(context.Background(), d.DSN("machine1"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Verify("")
	if err != nil {
		t.Fatal(err)
	}
	chain, err := s.VerifyChain()
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Conditions(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if f.Code == health.SchemaChanged {
			healthy = append(healthy, f.Text)
		}
	}
	return r.Findings, append(healthy, chain.Findings...)
}
