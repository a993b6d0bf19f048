package pgstore_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// sized returns mails whose records have some 3 kB.
func sized(from, n int) (list []string) {
	text := fmt.Sprintf(`"subject":"a subject","text":"%s","received"`, strings.Repeat("0123456789", 250))
	for i := range n {
		list = append(list, strings.Replace(queuetest.Mail(from+i, terms.Allow), `"received"`, text, 1))
	}
	return list
}

// add adds records in one commit. Their sender has no quota.
func add(s store.Store, lines []string) error {
	b := queue.NewBatch(s, false, 1<<30, func() time.Time { return today })
	for _, l := range lines {
		rec, err := record.Parse([]byte(l), queue.Members...)
		if err == nil {
			err = b.Put(rec)
		}
		if err != nil {
			return err
		}
	}
	return b.Commit(func([]byte) error { return nil })
}

// BenchmarkAdd adds records of 3 kB, 500 in one commit, beside none that are open and many. Its
// figure is records per second.
func BenchmarkAdd(b *testing.B) {
	s, n := open(b, pgtest.New(b).DSN("gate1")), 0
	some := func(b *testing.B) {
		if err := add(s, sized(n, 500)); err != nil {
			b.Fatal(err)
		}
		n += 500
	}
	for _, beside := range []int{0, 1e5} {
		for n < beside {
			some(b)
		}
		b.Run(fmt.Sprintf("open=%d", beside), func(b *testing.B) {
			for b.Loop() {
				some(b)
			}
			b.ReportMetric(float64(500*b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
	err := s.View(func(v store.View) error {
		if got := v.Counts().Tasks[task.Scheduled]; got != n {
			b.Errorf("%d tasks of %d records", got, n)
		}
		return nil
	})
	if err != nil {
		b.Error(err)
	}
}

// BenchmarkRun starts and finishes tasks beside many that are completed, by one command and by
// eight.
func BenchmarkRun(b *testing.B) {
	for _, completed := range []int{1e3, 1e6} {
		d := pgtest.New(b)
		complete(b, d, completed)
		gate, added := open(b, d.DSN("gate1")), 0
		fill := func(b *testing.B, n int) {
			for ; n > 0; n -= 500 {
				if err := add(gate, sized(added, min(n, 500))); err != nil {
					b.Fatal(err)
				}
				added += min(n, 500)
			}
		}
		fill(b, 500)
		startAll(b, openAll(b, d, 8), 500)
		for _, stores := range []int{1, 8} {
			b.Run(fmt.Sprintf("completed=%d/stores=%d", completed, stores), func(b *testing.B) {
				fill(b, b.N)
				d.Exec(b, "ANALYZE")
				all := openAll(b, d, stores)
				b.ResetTimer()
				startAll(b, all, b.N)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			})
		}
	}
}

// complete makes a queue look as if it had completed tasks, each with three lines of the log, a line
// every eight seconds up to now. Were they all as old, the clock would have jumped behind them, and for a
// day after that each start reads them.
func complete(b *testing.B, d *pgtest.DB, n int) {
	d.Exec(b, fmt.Sprintf(`SET search_path = pulse, pg_catalog;
		INSERT INTO audit SELECT i, format('{"time":"%%s","event":"finished","task":"%%s","filler":"%%s"}',
			to_char(now() - (3 * %[1]d - i) * interval '8 s', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), md5((i / 3)::text), repeat('x', 400)), 'machine1' FROM generate_series(1, 3 * %[1]d) i;
		INSERT INTO task SELECT md5(i::text), 3 * i + 1, 3 * i + 1, 3 * i + 3, 'completed', 'ask', 'read_public', 'sha256:' || repeat('0', 64), NULL FROM generate_series(0, %[1]d - 1) i;
		INSERT INTO file SELECT id, 'x' FROM task;
		UPDATE queue SET seq = 3 * %[1]d, counts = '{"completed":%[1]d}';`, n))
	d.Exec(b, "VACUUM ANALYZE")
}

// openAll opens the queue as often as there are commands.
func openAll(b *testing.B, d *pgtest.DB, n int) (all []*pgstore.Store) {
	for range n {
		all = append(all, open(b, d.DSN("machine1")))
	}
	return all
}

// startAll starts and finishes n tasks by some commands at the same time.
func startAll(b *testing.B, stores []*pgstore.Store, n int) {
	var left atomic.Int64
	left.Store(int64(n))
	p := *queuetest.Policy
	p.Limits.MaxPerDay, p.Limits.PerSenderPerHour = 1<<20, 1<<20
	var all sync.WaitGroup
	for _, s := range stores {
		next := queue.Run{Policy: &p, Max: n, Now: func() time.Time { return today }}
		all.Go(func() {
			for left.Add(-1) >= 0 {
				var claim *queue.Claim
				err := queue.Update(s, func(tx *queue.Tx) (err error) {
					claim, _, err = next.Next(tx, func(string) error { return nil })
					return err
				})
				if err == nil && claim == nil {
					b.Error("nothing to start")
					return
				}
				if err == nil {
					err = queue.Update(s, func(tx *queue.Tx) error {
						_, err := queue.Finish(tx, claim, queue.End{Result: []byte("done\n")}, &p.Limits, today)
						return err
					})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// today is about now: the server forgets old starts by its own clock.
var today = time.Now()
