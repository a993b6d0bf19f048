package pgstore_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
)

// TestStartsRead: all starts are read, whatever times their lines have, and stay known whatever
// the clock says meanwhile.
func TestStartsRead(t *testing.T) {
	w, d := base(t)
	if err := w.exec("ROLLBACK; UPDATE pulse.start SET at = -1; INSERT INTO pulse.start SELECT n, -1, min(entry) FROM pulse.start, generate_series(10001, 20000) n GROUP BY n"); err != nil {
		t.Fatal(err)
	}
	s := open(t, d.DSN("machine1"))
	count := func(now time.Time) (n int) {
		t.Helper()
		done := make(chan error)
		go func() {
			done <- s.View(func(v store.View) error { return v.Starts(now, func(store.Start) { n++ }) })
		}()
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(bound):
			t.Fatal("it reads the same starts for ever")
		}
		return n
	}
	if n := count(time.Unix(0, 0)); n <= 10000 {
		t.Errorf("%d starts", n)
	}
	if err := w.exec("UPDATE pulse.start SET at = extract(epoch FROM now())"); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	all := count(now)
	count(now.Add(3 * store.Window))
	if n := count(now); n != all || n <= 10000 {
		t.Errorf("of %d starts, %d are left after the clock was wrong", all, n)
	}
}

// TestRecent: what an Update reads ahead of the log is at most 4 MiB, and the log is read back whole and in
// order, whatever its last lines are.
func TestRecent(t *testing.T) {
	w, d := base(t)
	if err := w.exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	s := open(t, d.DSN("machine1"))
	last := func(bytes int, every string) (n, ahead int) {
		t.Helper()
		if err := w.exec(fmt.Sprintf(`UPDATE pulse.audit SET line = '{"count":' || seq || ',"by":"' || repeat('x', %d - octet_length(seq::text) - 18) || '"}'
			WHERE seq %% %s = 0 AND seq > (SELECT max(seq) - 25 FROM pulse.audit)`, bytes, every)); err != nil {
			t.Fatal(err)
		}
		if err := w.c.QueryRow(context.Background(), "SELECT count(*), coalesce(sum(octet_length(line)), 0) FROM ("+pgstore.Recent+") x", math.MaxInt64, 20).Scan(&n, &ahead); err != nil {
			t.Fatal(err)
		}
		want := ask(t, w.c, "SELECT seq::text FROM pulse.audit a ORDER BY a.seq DESC")
		err := s.View(func(v store.View) error {
			return v.Back(func(l audit.Line) bool {
				if l.Count != 0 && strconv.Itoa(l.Count) != want[0] && len(l.By) > 1000 {
					t.Errorf("line %s is read as %d", want[0], l.Count)
				}
				want = want[1:]
				return true
			})
		})
		if err != nil || len(want) > 0 {
			t.Errorf("%v, and %d lines were not read", err, len(want))
		}
		return n, ahead
	}
	for _, c := range []struct {
		bytes int
		every string
		n     int
	}{{209715, "1", 20}, {209716, "7", 17}, {209716, "1", 0}} {
		if n, ahead := last(c.bytes, c.every); n < c.n || n > c.n+1 || ahead > 4<<20 {
			t.Errorf("%+v: %d lines of %d bytes", c, n, ahead)
		}
	}
}
