package pgstore_test

import (
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/shared/terms"
)

// TestWaiting: a run that finds many effects to a target that had a message just now reads them
// together: what it asks the server grows with a small part of their number.
func TestWaiting(t *testing.T) {
	d := pgtest.New(t)
	p := proxyTo(t, d)
	f := fleetOf(t)
	f.policy.Outbound.MinReplyInterval = time.Hour
	one, ann := f.member(p.dsn(d, "machine1"), nil), f.member(d.DSN("ann"), nil)
	effects := 0
	more := func(n int) {
		for range n {
			effects++
			if one.put(queuetest.Effect(effects)) != nil || queue.Update(ann, sayYes) != nil {
				t.Fatal("no effect")
			}
		}
	}
	statements := func() (n int) {
		t.Helper()
		p.arm(-1, false)
		if one.turn(f.policy, terms.ExternalSend, nil) {
			t.Fatal("it starts too soon")
		}
		for _, said := range p.arm(-1, false) {
			if said == ">E" {
				n++
			}
		}
		return n
	}
	more(2)
	if !one.turn(f.policy, terms.ExternalSend, nil) {
		t.Fatal("nothing starts")
	}
	few := statements()
	more(39)
	many := statements()
	t.Logf("%d statements for 1 that waits, %d for 40", few, many)
	if many > few+15 {
		t.Errorf("%d statements for 1 that waits, %d for 40", few, many)
	}
}
