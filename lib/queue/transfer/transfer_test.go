package transfer_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/spool"
	"pulse/lib/queue/store"
	"pulse/lib/queue/transfer"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/terms"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func directory(t *testing.T) *spool.Spool {
	dir := filepath.Join(t.TempDir(), "queue")
	if err := spool.Create(dir, spool.Options{}); err != nil {
		t.Fatal(err)
	}
	s, err := spool.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

type verifier interface {
	Verify(head string) (*store.Report, error)
}

func verified(t *testing.T, s verifier) (head string) {
	t.Helper()
	r, err := s.Verify("")
	if err != nil || len(r.Findings) > 0 {
		t.Fatalf("%v: %q", err, r.Findings)
	}
	return r.Head
}

// TestThereAndBack: a queue with everything in it moves to a server and back. Its head stays
// what it was, and each of the three verifies.
func TestThereAndBack(t *testing.T) {
	first, now := directory(t), queuetest.Epoch
	for _, op := range queuetest.Life {
		now = now.Add(time.Hour)
		if err := op.Do(first, now); err != nil {
			t.Logf("%s: %v", op.Name, err) // some fail on purpose
		}
	}
	doubt := queue.Learning{Was: queue.NewFates(), Is: queue.NewFates()} // as after a restore of which nothing is known
	learn := queuetest.Update("learn", func(tx *queue.Tx, now time.Time) error {
		_, err := doubt.Step(tx, now)
		return err
	})
	if err := learn.Do(first, now); err != nil || doubt.Asked == 0 {
		t.Fatal(doubt.Asked, err)
	}
	d := pgtest.New(t)
	if err := transfer.ToServer(context.Background(), first, d.DSN(pgtest.Super)); err == nil {
		t.Error("a queue that is not on hold was copied")
	}
	still(t, first, now)
	if err := transfer.ToServer(context.Background(), first, d.DSN(pgtest.Super)); err != nil {
		t.Fatal(err)
	}
	s, err := pgstore.Open(context.Background(), d.DSN("machine1"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	head := verified(t, first)
	if got := verified(t, s); got != head {
		t.Errorf("head %s on the server, %s before", got, head)
	}
	if err := transfer.ToServer(context.Background(), first, d.DSN(pgtest.Super)); err == nil {
		t.Error("a queue was copied onto another one")
	}
	dump := func(s store.Store) string {
		text, err := queuetest.Dump(s)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got, want := dump(s), dump(first); got != want {
		t.Errorf("on the server\n%s\nbefore\n%s", got, want)
	}
	back := directory(t)
	for range 2 { // the second time there is nothing left to do
		if err := transfer.ToDirectory(s, back); err != nil {
			t.Fatal(err)
		}
		if got := verified(t, back); got != head {
			t.Errorf("head %s in the directory, %s before", got, head)
		}
	}
	if err := queuetest.Nothing.Do(back, now); err != nil {
		t.Error(err)
	}
	if err := transfer.ToDirectory(s, directory(t)); err != nil {
		t.Error(err)
	}
}

// TestNotedThereAndBack: what an account noted of a queue counts where the queue has moved to,
// both ways. It lacks nothing there, and a copy that lacks lines is found.
func TestNotedThereAndBack(t *testing.T) {
	home, ctx := filepath.Join(t.TempDir(), "seen"), context.Background()
	first, now := directory(t), queuetest.Epoch
	first.Remember(home)
	for i := range 3 {
		if err := queuetest.Add(queuetest.Mail(i, terms.Allow)).Do(first, now); err != nil {
			t.Fatal(err)
		}
	}
	d, old := pgtest.New(t), pgtest.New(t)
	still(t, first, now)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(transfer.ToServer(ctx, first, d.DSN(pgtest.Super)))
	do(transfer.ToServer(ctx, first, old.DSN(pgtest.Super)))
	served := func(d *pgtest.DB) *pgstore.Store {
		s, err := pgstore.Open(ctx, d.DSN("machine1"))
		do(err)
		t.Cleanup(s.Close)
		s.Remember(home)
		return s
	}
	s := served(d)
	lacks(t, s, "")
	do(queuetest.Add(queuetest.Mail(4, terms.Allow)).Do(s, now))
	lacks(t, s, "")
	back, older := directory(t), directory(t)
	do(transfer.ToDirectory(s, back))
	back.Remember(home)
	lacks(t, back, "")
	do(queuetest.Add(queuetest.Mail(5, terms.Allow)).Do(back, now))
	lacks(t, back, "")
	lacks(t, served(old), "it lacks a line")
	other, err := pgstore.Open(ctx, old.DSN("machine1"))
	do(err)
	t.Cleanup(other.Close)
	do(transfer.ToDirectory(other, older))
	older.Remember(home)
	lacks(t, older, "it lacks a line")
}

// lacks fails unless a queue lacks what this account saw, or nothing.
func lacks(t *testing.T, s store.Store, want string) {
	t.Helper()
	lost := ""
	err := s.View(func(v store.View) (err error) {
		lost, err = v.Lost()
		return err
	})
	if err != nil || lost == "" != (want == "") || !strings.Contains(lost, want) {
		t.Errorf("%q, %v; want %q", lost, err, want)
	}
}

// still ends what runs, and puts the queue on hold.
func still(t *testing.T, s store.Store, now time.Time) {
	reap := queuetest.Update("reap", func(tx *queue.Tx, now time.Time) error {
		_, err := queue.Reap(tx, &queuetest.Policy.Limits, now, func(string) bool { return true })
		return err
	})
	for range 20 {
		if err := reap.Do(s, now); err != nil {
			t.Fatal(err)
		}
	}
	if err := queuetest.Brake(audit.Held).Do(s, now); err != nil {
		t.Fatal(err)
	}
}
