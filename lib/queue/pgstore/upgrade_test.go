package pgstore_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/shared/fault"
)

// older makes of a new queue one with an older schema, into which what the log of another queue
// makes was copied.
func older(t *testing.T, d *pgtest.DB, schema string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", schema))
	if err != nil {
		t.Fatal(err)
	}
	d.Exec(t, "CREATE SCHEMA kept; "+
		"CREATE TABLE kept.queue AS SELECT one, unsafe, made, seq, head, held, day, refused, limited, kept, kept_bytes, counts FROM pulse.queue; "+
		"CREATE TABLE kept.audit AS SELECT seq, line, who, alone FROM pulse.audit")
	for _, table := range []string{"task", "file", "thing", "start", "run", "nonce"} {
		d.Exec(t, "CREATE TABLE kept."+table+" AS TABLE pulse."+table)
	}
	d.Exec(t, "DROP SCHEMA pulse CASCADE")
	d.Exec(t, "BEGIN; "+string(b)+"; COMMIT")
	d.Exec(t, "DELETE FROM pulse.queue; INSERT INTO pulse.queue (one, unsafe, made, seq, head, held, day, refused, limited, kept, kept_bytes, counts) TABLE kept.queue; "+
		"INSERT INTO pulse.audit TABLE kept.audit")
	for _, table := range []string{"task", "file", "thing", "start", "run", "nonce"} {
		d.Exec(t, "INSERT INTO pulse."+table+" TABLE kept."+table)
	}
	d.Exec(t, "DROP SCHEMA kept CASCADE")
}

// TestUpgrade: a queue of each schema that there was, with tasks in every state, is refused whole,
// and is the same queue after an upgrade: nothing of it is lost, it verifies, and goes on. What a
// client had put into an entry is gone.
func TestUpgrade(t *testing.T) {
	for _, schema := range []string{"schema-06c81c1.sql", "schema-487daf9b.sql"} {
		d := pgtest.New(t)
		w := play(t, d)
		w.cohort()
		w.happen()
		older(t, d, schema)
		_, err := pgstore.Open(context.Background(), d.DSN("machine1"))
		if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "init --upgrade") {
			t.Errorf("%s: %v, %s", schema, err, fault.HintOf(err))
		}
		if err := pgstore.Create(context.Background(), d.DSN(pgtest.Super), false); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: init: %v", schema, err)
		}
		d.Exec(t, "UPDATE pulse.task SET entry = overlay(entry PLACING '9999999999' FROM 118) WHERE state = 'scheduled'; GRANT DELETE ON pulse.audit TO PUBLIC")
		for range 2 { // the second time there is little to do
			if err := pgstore.Upgrade(context.Background(), d.DSN(pgtest.Super)); err != nil {
				t.Fatalf("%s: %v", schema, err)
			}
		}
		s := open(t, d.DSN("machine1"))
		if r, err := s.Verify(""); err != nil || len(r.Findings) > 0 {
			t.Errorf("%s: %v, %+v", schema, err, r)
		}
		if err := queuetest.Start("").Do(s, time.Now()); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
		d.Exec(t, "UPDATE pulse.queue SET format = 3")
		if _, err := pgstore.Open(context.Background(), d.DSN("machine1")); fault.KindOf(err) != fault.Usage {
			t.Errorf("a newer schema: %v", err)
		}
		if err := pgstore.Upgrade(context.Background(), d.DSN(pgtest.Super)); fault.KindOf(err) != fault.Usage {
			t.Errorf("an upgrade of a newer schema: %v", err)
		}
	}
}
