package pgstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// senders are those of a storm. The first one sends half of all.
var senders = []string{"me@example.com", "you@example.com", "ann@example.com", "bob@example.com"}

// TestWeather: with all that a queue's machines and people do going on at the same time, the
// caps are exact, nothing starts while the queue is held, and each start is there once.
func TestWeather(t *testing.T) {
	d, f := pgtest.New(t), fleetOf(t)
	length, perDay, perSender := 3*time.Second, 24, 5
	if !testing.Short() {
		length, perDay, perSender = time.Minute, 100, 20
	}
	asks := len(senders) * perSender // they take turns, so all of them come to their cap, before the day's
	f.policy.Owners, f.policy.Limits.MaxPerDay, f.policy.Limits.PerSenderPerHour = senders, perDay, perSender
	for i := range 8 {
		machine := d.DSN([]string{"machine1", "machine2"}[i%2])
		f.member(machine, (*member).addsOfAll)
		f.member(machine, (*member).runs)
	}
	f.member(d.DSN("ann"), (*member).approves)
	f.member(d.DSN("ann"), (*member).interferes)
	over := time.After(length)
	until(t, "the caps are reached", func() bool { _, n := f.counts(); return n >= asks+perDay })
	<-over
	f.end()
	f.check(d.DSN("machine1"))

	starts, bySender, holds, held, during := map[task.Kind]int{}, map[string]int{}, 0, false, 0
	for _, raw := range logged(t, open(t, d.DSN("reader1"))) {
		l, err := audit.Parse([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		switch l.Event {
		case audit.Held:
			held = true
			holds++
		case audit.Released:
			held = false
		case task.Started:
			if starts[l.Kind]++; l.Kind == task.Ask {
				bySender[l.Sender]++
			}
			if held {
				during++
			}
		}
	}
	t.Logf("%v starts, of asks %v; %d holds, %d starts during one", starts, bySender, holds, during)
	if starts[task.Ask] != asks || starts[task.Effect] != perDay {
		t.Errorf("%v starts, want %d of asks and %d of effects", starts, asks, perDay)
	}
	for who, n := range bySender {
		if n != perSender {
			t.Errorf("%d starts of %s, want %d", n, who, perSender)
		}
	}
	if holds == 0 || during > 0 {
		t.Errorf("%d holds, %d starts during one", holds, during)
	}
}

// addsOfAll is adds, of mail from all senders, until there is more than enough.
func (m *member) addsOfAll() {
	for n := 0; !m.f.over.Load() && n < 10*m.f.policy.Limits.MaxPerDay; {
		n = int(m.f.uid.Add(1))
		line := queuetest.Effect(n)
		if n%3 > 0 {
			line = strings.Replace(queuetest.Mail(n, terms.Allow), senders[0], senders[max(0, n%8-4)], 1)
		}
		_ = m.put(line)
	}
}

// interferes holds the queue and releases it, and cancels what runs.
func (m *member) interferes() {
	for !m.f.over.Load() {
		_ = queuetest.Brake(audit.Held).Do(m, time.Now())
		_ = queuetest.Brake(audit.Released).Do(m, time.Now())
		_ = queue.Update(m, func(tx *queue.Tx) error {
			s, found, err := queuetest.First(tx, task.Running)
			if !found || err != nil {
				return err
			}
			if _, err = queue.Cancel(tx, s.Task.ID, "ann", time.Now()); errors.Is(err, queue.ErrState) {
				return nil
			}
			return err
		})
	}
}
