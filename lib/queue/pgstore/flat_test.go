package pgstore_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/spool"
	"pulse/lib/queue/store"
)

// tee commits to a queue in flat files what was committed to the other one. What is drawn at
// random is so the same in both.
type tee struct {
	store.Store
	flat *spool.Spool
}

func (s *tee) Update(fn func(store.View) (*store.Commit, error)) error {
	var c *store.Commit
	err := s.Store.Update(func(v store.View) (_ *store.Commit, err error) {
		c, err = fn(v)
		return c, err
	})
	if err != nil {
		return err
	}
	return s.flat.Update(func(store.View) (*store.Commit, error) { return c, nil })
}

// TestFlat: the log of a life is byte for byte that of flat files.
func TestFlat(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "q")
	if err := spool.Create(dir, spool.Options{}); err != nil {
		t.Fatal(err)
	}
	flat, err := spool.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(flat.Close)
	d := pgtest.New(t)
	c := castOf(t, d)
	both := &cast{&tee{c.Store, flat}, &tee{c.ann, flat}, &tee{c.both, flat}}
	now := queuetest.Epoch
	for i, op := range played(queuetest.Life) {
		if err := op.Do(both, now); err != nil {
			t.Fatalf("%d %s: %v", i, op.Name, err)
		}
		now = now.Add(31 * time.Hour)
	}
	s := open(t, d.DSN("machine1"))
	if got, want := logged(t, s), logged(t, flat); !slices.Equal(got, want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
	have, err := s.Verify("")
	if err != nil || have.Broken || len(have.Findings) > 0 {
		t.Fatalf("%+v, %v", have, err)
	}
	if want, err := flat.Verify(have.Head); err != nil || want.Head != have.Head || len(want.Findings) > 0 {
		t.Errorf("%+v, %v; want %+v", have, err, want)
	}
}
