package pgstore_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
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

// BenchmarkAdd adds records of 3 kB, 500 in one commit. Its figure is records per second.
func BenchmarkAdd(b *testing.B) {
	s := open(b, pgtest.New(b).DSN("gate1"))
	n := 0
	for b.Loop() {
		if err := queuetest.Add(sized(n, 500)...).Do(s, benchNow); err != nil {
			b.Fatal(err)
		}
		n += 500
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkRun starts and finishes tasks in a queue that has completed a thousand, by one
// command and by eight.
func BenchmarkRun(b *testing.B) {
	d := pgtest.New(b)
	gate, added := open(b, d.DSN("gate1")), 0
	fill := func(b *testing.B, n int) {
		for ; n > 0; n -= 500 {
			if err := queuetest.Add(sized(added, min(n, 500))...).Do(gate, benchNow); err != nil {
				b.Fatal(err)
			}
			added += min(n, 500)
		}
		d.Exec(b, "ANALYZE")
	}
	fill(b, 1000)
	run(b, d, 8, 1000)
	for _, stores := range []int{1, 8} {
		b.Run(fmt.Sprintf("stores=%d", stores), func(b *testing.B) {
			fill(b, b.N)
			b.ResetTimer()
			run(b, d, stores, b.N)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

// run starts and finishes n tasks by some commands at the same time.
func run(b *testing.B, d *pgtest.DB, stores, n int) {
	var left atomic.Int64
	left.Store(int64(n))
	p := *queuetest.Policy
	p.Limits.MaxPerDay, p.Limits.PerSenderPerHour = 1<<20, 1<<20
	var all sync.WaitGroup
	for range stores {
		s := open(b, d.DSN("machine1"))
		next := queue.Run{Policy: &p, Max: n, Now: func() time.Time { return benchNow }}
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
						_, err := queue.Finish(tx, claim, queue.End{Result: []byte("done\n")}, &p.Limits, benchNow)
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

// benchNow is about now: the server forgets old starts by its own clock.
var benchNow = time.Now()
