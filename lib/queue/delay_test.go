package queue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// sends is a queue with so many messages, each to another address, that wait for a person.
func sends(t *testing.T, n int) *shelf {
	var list []*queue.Stored
	for i := 1; i <= n; i++ {
		s := stored(i, task.Awaiting, time.Hour, time.Hour)
		s.Decision.Outcome = terms.Confirm
		list = append(list, effect(s, fmt.Sprintf("%032x", 0xa5c), fmt.Sprintf(`{"action":"external_send","target":["bob%d@partner.example"]}`, i)))
	}
	return newShelf(t, list...)
}

// approve says yes to a task.
func (s *shelf) approve(id string, at time.Time) {
	s.t.Helper()
	one := s.find(id)
	a := queue.Yes(&one, "me", approval.Terminal, at)
	if err := s.update(func(tx *queue.Tx) error { return queue.Approve(tx, &one, a, at) }); err != nil {
		s.t.Fatal(err)
	}
}

// run lets a run start what it may, and ends that. It returns how many it started.
func (s *shelf) run(p *policy.Policy, effect terms.Action, at time.Time) (started []string) {
	s.t.Helper()
	r := queue.Run{Policy: p, Effect: effect, Max: 10, Now: func() time.Time { return at }}
	for {
		var claim *queue.Claim
		err := s.update(func(tx *queue.Tx) (err error) {
			claim, _, err = r.Next(tx, func(string) error { return nil })
			return err
		})
		if err == nil && claim != nil {
			err = s.update(func(tx *queue.Tx) error {
				_, err := queue.Finish(tx, claim, queue.End{}, &p.Limits, at)
				return err
			})
		}
		if err != nil {
			s.t.Fatal(err)
		}
		if claim == nil {
			return started
		}
		started = append(started, claim.Task.ID)
	}
}

// TestYesInTime: a yes lapsed while a cap held its task, and the person was asked once more.
func TestYesInTime(t *testing.T) {
	const tasks = 5
	p := policy.Default()
	p.Limits.MaxPerDay = 1
	s := sends(t, tasks)
	for i := 1; i <= tasks; i++ {
		s.approve(fmt.Sprintf("%032x", i), now)
	}
	for i := 1; i <= tasks; i++ {
		at := now.Add(time.Duration(i-1) * (24*time.Hour + time.Minute))
		if got := s.run(p, terms.ExternalSend, at); len(got) != 1 || got[0] != fmt.Sprintf("%032x", i) {
			t.Fatalf("day %d: %q started; the next one: %+v", i, got, s.find(fmt.Sprintf("%032x", i)).Task)
		}
	}
}

// TestYesLapses: the time for which no limit held its task does count.
func TestYesLapses(t *testing.T) {
	const first, second = "00000000000000000000000000000001", "00000000000000000000000000000002"
	for name, c := range map[string]struct {
		change  func(p *policy.Policy)
		yes     time.Duration // after the start of the first
		start   time.Duration // likewise
		starts  bool
		targets string
	}{
		"never held":                     {func(*policy.Policy) {}, 0, 24*time.Hour - time.Second, true, ""},
		"never held, and too late":       {func(*policy.Policy) {}, 0, 24 * time.Hour, false, ""},
		"held for a day":                 {cap1, 0, 48*time.Hour - time.Second, true, ""},
		"held for a day, and too late":   {cap1, 0, 48 * time.Hour, false, ""},
		"held for an hour":               {cap1, 23 * time.Hour, 48*time.Hour - time.Second, true, ""},
		"held for an hour, and too late": {cap1, 23 * time.Hour, 48 * time.Hour, false, ""},
		"the interval":                   {reply(8 * time.Hour), 0, 32*time.Hour - time.Second, true, "bob1@partner.example"},
		"the interval, and too late":     {reply(8 * time.Hour), 0, 32 * time.Hour, false, "bob1@partner.example"},
		"the interval, for another":      {reply(8 * time.Hour), 0, 24 * time.Hour, false, ""},
		"a long interval":                {reply(80 * time.Hour), 0, 81 * time.Hour, false, "bob1@partner.example"}, // a day counts
		"both at once count once":        {both, 0, 48 * time.Hour, false, "bob1@partner.example"},
		"both at once, and just in time": {both, 0, 48*time.Hour - time.Second, true, "bob1@partner.example"},
		"a cap with room":                {func(p *policy.Policy) { p.Limits.MaxPerDay = 2 }, 0, 24 * time.Hour, false, ""},
		"given when the cap had room":    {cap1, 25 * time.Hour, 49 * time.Hour, false, ""},
		"given then, and in time":        {cap1, 25 * time.Hour, 49*time.Hour - time.Second, true, ""},
	} {
		p := policy.Default()
		p.Outbound.MinReplyInterval = 0
		c.change(p)
		s := sends(t, 2)
		if c.targets != "" {
			one := stored(2, task.Awaiting, time.Hour, time.Hour)
			one.Decision.Outcome = terms.Confirm
			first := s.find(first)
			s = newShelf(t, &first, effect(one, fmt.Sprintf("%032x", 0xa5c), `{"action":"external_send","target":["`+c.targets+`"]}`))
		}
		s.approve(first, now)
		s.run(p, terms.ExternalSend, now)
		s.approve(second, now.Add(c.yes))
		if got := s.run(p, terms.ExternalSend, now.Add(c.start)); (len(got) == 1) != c.starts {
			t.Errorf("%s: %q started; %+v", name, got, s.find(second).Task)
		}
	}
}

func cap1(p *policy.Policy) { p.Limits.MaxPerDay = 1 }

func reply(d time.Duration) func(p *policy.Policy) {
	return func(p *policy.Policy) { p.Outbound.MinReplyInterval = d }
}

func both(p *policy.Policy) {
	cap1(p)
	p.Outbound.MinReplyInterval = 24 * time.Hour
}

// TestForgedYesLapses: limits add nothing to a yes that no line of the log gave.
func TestForgedYesLapses(t *testing.T) {
	s := sends(t, 1)
	one := s.find(fmt.Sprintf("%032x", 1))
	one.Task.State = task.Scheduled
	s = newShelf(t, &one)
	a := queue.Yes(&one, "me", approval.Terminal, now.Add(-30*time.Hour))
	s.answer(one.Task.ID, &a)
	l := audit.Line{Time: now.Add(-29 * time.Hour), Event: task.Started, Kind: task.Effect, Task: fmt.Sprintf("%032x", 9)}
	s.started(l)
	p := policy.Default()
	p.Limits.MaxPerDay = 1
	if got := s.run(p, terms.ExternalSend, now); len(got) != 0 {
		t.Errorf("%q started", got)
	}
}

// TestApprovedFirst: an ask that a person looked at waited behind those that nobody has looked
// at, and lapsed there.
func TestApprovedFirst(t *testing.T) {
	var list []*queue.Stored
	for i := 1; i <= 4; i++ {
		st := task.Scheduled
		if i == 3 {
			st = task.Awaiting
		}
		list = append(list, stored(i, st, time.Duration(10-i)*time.Hour, time.Duration(10-i)*time.Hour))
	}
	s := newShelf(t, list...)
	s.approve(fmt.Sprintf("%032x", 3), now)
	got := s.run(policy.Default(), "", now.Add(time.Minute))
	var order string
	for _, id := range got {
		order += id[31:]
	}
	if order != "3124" {
		t.Errorf("the order is %s", order)
	}
}

// TestUntil: what is said to hold a task does hold it, and until then.
func TestUntil(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	held := map[string]int{}
	for range 300 {
		p := policy.Default()
		p.Limits.MaxPerDay, p.Limits.PerSenderPerHour = 2+r.IntN(4), 1+r.IntN(3)
		p.Outbound.MinReplyInterval = time.Duration(r.IntN(40)) * time.Hour
		one := stored(1, task.Scheduled, time.Hour, time.Hour)
		one.Identity.Sender, one.Identity.Trust = "bob@partner.example", terms.ExternalVerified
		run := queue.Run{Policy: p, Max: 10}
		if r.IntN(2) == 0 {
			one = outward(one)
			run.Effect = terms.ExternalSend
		}
		s := newShelf(t, one)
		ago := time.Duration(0)
		var lines []audit.Line
		for range r.IntN(8) {
			l := audit.Line{Event: task.Started, Kind: task.Ask, Task: fmt.Sprintf("%032x", 0xf00), Trust: terms.OwnerVerifiedEmail, Sender: "me@example.com"}
			ago += time.Duration(r.IntN(10*60)) * time.Minute
			l.Time = now.Add(-ago)
			if r.IntN(2) == 0 {
				l.Trust, l.Sender = terms.ExternalVerified, "bob@partner.example"
			}
			if r.IntN(2) == 0 {
				l.Kind, l.Target = task.Effect, []string{"bob@partner.example"}
			}
			lines = append(lines, l)
		}
		for _, l := range slices.Backward(lines) {
			s.started(l)
		}
		s.view(func(v store.View) error {
			by, err := run.Limit(v, one, now)
			if err != nil {
				return err
			}
			c, err := queue.PaceOf(v, p, now)
			if err != nil {
				return err
			}
			limit, until := c.Until(one)
			if held[by]++; (limit == "") != (by == "") {
				t.Errorf("%q, but %q until %s", by, limit, until)
			}
			if limit == "" {
				return nil
			}
			for d, want := range map[time.Duration]bool{-time.Second: true, 0: false} {
				by, err := run.Limit(v, one, until.Add(d))
				if (by != "") != want || err != nil {
					t.Errorf("%s, %s after its end: %q, %v", limit, d, by, err)
				}
			}
			return nil
		})
	}
	if len(held) < 4 {
		t.Errorf("held by %v", held)
	}
}
