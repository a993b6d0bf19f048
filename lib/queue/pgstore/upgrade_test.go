package pgstore_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
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

// everyState lets real tasks come to be in every state, of which some run.
func everyState(t *testing.T, d *pgtest.DB, c *cast) (now time.Time) {
	t.Helper()
	now = queuetest.Epoch
	do := func(list ...queuetest.Operation) {
		t.Helper()
		for _, op := range played(list) {
			now = now.Add(31 * time.Hour)
			if err := op.Do(c, now); err != nil {
				t.Fatalf("%s: %v", op.Name, err)
			}
		}
	}
	fails := []queuetest.Operation{queuetest.Start(""), queuetest.Finish(queue.End{Exit: 1})}
	do(queuetest.Add(queuetest.Mails(1, 1)...), queuetest.Start(""), queuetest.Finish(queue.End{Result: []byte("done\n")}))
	do(queuetest.Add(queuetest.Mails(2, 1)...))
	do(slices.Repeat(fails, 9)...)
	do(queuetest.Add(queuetest.Mails(3, 1)...))
	d.Exec(t, "UPDATE pulse.file SET bytes = 'x' WHERE id = (SELECT id FROM pulse.task WHERE state = 'scheduled')")
	do(queuetest.Start(""), queuetest.Add(queuetest.Mail(4, terms.Review)), queuetest.Deny)
	do(queuetest.Add(queuetest.Effect(1)), queuetest.Approve, queuetest.Start(terms.ExternalSend), queuetest.Add(queuetest.Mails(5, 1)...), queuetest.Start(""))
	do(queuetest.Add(queuetest.Effect(2)), queuetest.Approve, queuetest.Add(queuetest.Mails(6, 4)...), queuetest.Add(queuetest.Effect(3)), queuetest.Add(queuetest.Mail(7, terms.Review)))
	return now
}

// TestOlderOfThisFormat: a queue of this format that lacks a function or a column is one to upgrade.
func TestOlderOfThisFormat(t *testing.T) {
	d := pgtest.New(t)
	s := open(t, d.DSN("machine1"))
	for _, lacks := range []string{"DROP FUNCTION pulse.kept", "ALTER TABLE pulse.queue DROP COLUMN counts"} {
		d.Exec(t, lacks)
		err := s.View(func(store.View) error { return nil })
		if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "init --upgrade") {
			t.Errorf("%s: %v, %s", lacks, err, fault.HintOf(err))
		}
	}
}

// tasksOf returns a line for each task: its id, its state, and how often it was started.
func tasksOf(t *testing.T, d *pgtest.DB) (list []string) {
	t.Helper()
	return ask(t, login(t, d, pgtest.Super), `SELECT concat_ws(' ', id, state, (SELECT count(*) FROM pulse.audit WHERE line LIKE '%"event":"started","task":"' || id || '"%')) FROM pulse.task ORDER BY id`)
}

// TestUpgradeGoesOn: a queue whose tasks are in every state is upgraded while some of them run. They
// end, the others start, once, and none is lost.
func TestUpgradeGoesOn(t *testing.T) {
	for _, schema := range []string{"schema-06c81c1.sql", "schema-487daf9b.sql"} {
		d := pgtest.New(t)
		c := castOf(t, d)
		now := everyState(t, d, c)
		before := tasksOf(t, d)
		for _, st := range task.States {
			if !strings.Contains(strings.Join(before, "\n"), " "+string(st)+" ") {
				t.Errorf("no task is %s: %s", st, before)
			}
		}
		broken := ask(t, login(t, d, pgtest.Super), "SELECT id FROM pulse.task WHERE state = 'corrupt'") // verify says so
		older(t, d, schema)
		if err := pgstore.Upgrade(context.Background(), d.DSN(pgtest.Super)); err != nil {
			t.Fatal(err)
		}
		if after := tasksOf(t, d); !slices.Equal(before, after) {
			t.Errorf("%s: %s\nwere %s", schema, after, before)
		}
		goesOn := []queuetest.Operation{queuetest.Finish(queue.End{}), queuetest.Approve, queuetest.Start(terms.ExternalSend), queuetest.Start("")}
		for _, op := range played(slices.Repeat(goesOn, 12)) {
			now = now.Add(31 * time.Hour)
			if err := op.Do(c, now); err != nil {
				t.Fatalf("%s: %s: %v", schema, op.Name, err)
			}
		}
		after := tasksOf(t, d)
		for i, was := range before {
			id, rest, _ := strings.Cut(was, " ")
			st, n, _ := strings.Cut(rest, " ")
			want := id + " completed 1"
			if !task.State(st).Open() {
				want = id + " " + st + " " + n
			}
			if i >= len(after) || after[i] != want {
				t.Errorf("%s: %s, it was %s", schema, after[i], was)
			}
		}
		verified, healthy := findings(t, d)
		if len(verified) != 1 || !strings.Contains(verified[0], broken[0]) || len(healthy) > 0 || len(after) != len(before) {
			t.Errorf("%s: %s, %s", schema, verified, healthy)
		}
	}
}
