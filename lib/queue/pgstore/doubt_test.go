package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
)

// logged returns the lines of the log.
func logged(tb testing.TB, s store.Store) (all []string) {
	tb.Helper()
	err := s.View(func(v store.View) error {
		lines, err := v.Lines(time.Time{}, nil)
		if err != nil {
			return err
		}
		return lines(func(raw []byte, _ *audit.Line) error {
			all = append(all, string(raw))
			return nil
		})
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// TestCut: a connection that is cut at any message of an Update leaves it done or not done,
// and Update says which.
func TestCut(t *testing.T) {
	d := pgtest.New(t)
	p := proxyTo(t, d)
	s, see := open(t, p.dsn(d, "machine1")), open(t, d.DSN("reader1"))
	had, undone, decided := 0, 0, 0
	for n, over := 0, false; !over; n++ {
		for _, after := range []bool{false, true} {
			if err := queuetest.Nothing.Do(s, queuetest.Epoch); err != nil { // connects again
				t.Fatal(err)
			}
			p.arm(n, after)
			err := queuetest.Brake(audit.Held).Do(s, queuetest.Epoch)
			said := p.arm(-1, false)
			over = len(said) <= n
			now := len(logged(t, see))
			switch {
			case err == nil && now != had+1:
				t.Fatalf("%d %v %v: acknowledged, and the log has %d lines more", n, after, said, now-had)
			case err != nil && now != had:
				t.Fatalf("%d %v %v: %v, and the log has %d lines more", n, after, said, err, now-had)
			case err != nil && (fault.KindOf(err) != fault.Temporary || !errors.Is(err, store.ErrAway)): // run tries again
				t.Errorf("%d %v %v: %v", n, after, said, err)
			case err != nil:
				undone++
			case !over:
				decided++
			}
			had = now
		}
	}
	if undone < 5 || decided < 5 {
		t.Errorf("%d cuts ended in not done, %d in done", undone, decided)
	}
}

// TestDoubt: who can't ask the server again does not say what became of a commit.
func TestDoubt(t *testing.T) {
	d := pgtest.New(t)
	p := proxyTo(t, d)
	s := open(t, p.dsn(d, "machine1"))
	done := make(chan struct{})
	close(done)
	s.Interrupt(done)
	err := s.Update(func(store.View) (*store.Commit, error) {
		p.close(true)
		p.arm(0, true)
		return &store.Commit{Lines: []audit.Line{{Time: queuetest.Epoch, Event: audit.Held, By: "me"}}}, nil
	})
	if !errors.Is(err, pgstore.ErrDoubt) || fault.KindOf(err) != fault.Temporary {
		t.Errorf("%v", err)
	}
}

// TestCancelled: a COMMIT whose wait for the standby is cancelled succeeds, and only a
// notice tells. Update does not return before what it did is at the standby after all.
func TestCancelled(t *testing.T) {
	d := pgtest.New(t)
	s, see := open(t, d.DSN("machine1")), open(t, d.DSN("reader1"))
	reload := func(standbys string) {
		d.Exec(t, "ALTER SYSTEM SET synchronous_standby_names = '"+standbys+"'")
		d.Exec(t, "SELECT pg_reload_conf()")
	}
	t.Cleanup(func() { reload("") }) // or nothing would ever be committed again
	reload("nobody")
	bystander(t, d.DSN(pgtest.Super))
	n, stop, ended := 0, make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			err := queuetest.Brake(audit.Held).Do(s, queuetest.Epoch)
			n++
			select {
			case <-stop:
				ended <- err
				return
			default:
			}
			if err != nil {
				t.Error(err)
			}
		}
	}()
	d.Exec(t, `DO $$
		DECLARE one int; other int; until timestamptz := clock_timestamp() + '10 min';
		BEGIN
			WHILE other IS NULL LOOP
				ASSERT clock_timestamp() < until, 'no commit waits, or none waits again';
				PERFORM pg_stat_clear_snapshot(), pg_sleep(0.01);
				IF one IS NULL THEN
					SELECT pid INTO one FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database();
					PERFORM pg_cancel_backend(one);
				END IF;
				SELECT pid INTO other FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database() AND pid <> one;
			END LOOP;
		END $$`)
	close(stop)
	reload("")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := len(logged(t, see)); got != n {
		t.Errorf("%d lines after %d commits", got, n)
	}
}

// bystander connects as something that streams the log, and is not the standby that counts.
func bystander(t *testing.T, name string) {
	t.Helper()
	c, err := pgconn.Connect(t.Context(), name+"&replication=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
}

// TestNoStandby: without the standby that has to acknowledge, no command hangs: one that begins
// changes nothing, and one that commits says that this is in doubt.
func TestNoStandby(t *testing.T) {
	p := pgtest.NewPair(t, true)
	undo := pgstore.Standby(time.Second)
	defer undo()
	s, other := open(t, hosts("machine1", p)), open(t, hosts("machine2", p))
	held := queuetest.Brake(audit.Held)
	if err := held.Do(s, queuetest.Epoch); err != nil {
		t.Fatal(err)
	}
	p.Standby.Freeze() // it is connected
	doubt := make(chan error)
	go func() { doubt <- held.Do(s, queuetest.Epoch) }()
	p.Primary.Do(t, `DO $$ BEGIN
		WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep') LOOP
			PERFORM pg_stat_clear_snapshot(), pg_sleep(0.01);
		END LOOP; END $$`)
	p.Standby.Kill()
	if err := <-doubt; !errors.Is(err, pgstore.ErrDoubt) || fault.KindOf(err) != fault.Temporary {
		t.Errorf("%v", err)
	}
	err := held.Do(other, queuetest.Epoch)
	if !errors.Is(err, store.ErrAway) || fault.KindOf(err) != fault.Temporary || !strings.Contains(err.Error(), "nothing was changed: ") || !strings.Contains(err.Error(), "no standby is connected") {
		t.Errorf("%v", err)
	}
	p.Standby.Restart(t)
	if err := held.Do(other, queuetest.Epoch); err != nil {
		t.Error(err)
	}
	if n := len(logged(t, s)); n != 3 {
		t.Errorf("%d lines", n)
	}
}

// TestTwin: a commit that did not happen is not taken for one of another machine that wrote the
// very same line.
func TestTwin(t *testing.T) {
	d := pgtest.New(t)
	s, other := open(t, d.DSN("machine1")), open(t, d.DSN("machine2"))
	line := audit.Line{Time: queuetest.Epoch, Event: audit.Held}
	err := s.Update(func(store.View) (*store.Commit, error) {
		cut(t, d, "machine1")
		err := other.Update(func(store.View) (*store.Commit, error) { return &store.Commit{Lines: []audit.Line{line}}, nil })
		return &store.Commit{Lines: []audit.Line{line}}, err
	})
	if !errors.Is(err, store.ErrAway) || len(logged(t, s)) != 1 {
		t.Errorf("%v, %v", err, logged(t, s))
	}
	err = s.Update(func(store.View) (*store.Commit, error) { // what it has read is still there
		cut(t, d, "machine1")
		return &store.Commit{}, nil
	})
	if err != nil {
		t.Error(err)
	}
}

// cut ends the connections of a login.
func cut(tb testing.TB, d *pgtest.DB, login string) {
	tb.Helper()
	d.Exec(tb, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = '"+login+"' AND datname = current_database()")
}
