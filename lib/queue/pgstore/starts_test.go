package pgstore_test

import (
	"testing"
	"time"

	"pulse/lib/queue/store"
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
