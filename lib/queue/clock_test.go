package queue_test

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

const (
	days    = 24 * time.Hour
	century = 254 * 365 * days
)

// wall is a queue that is used by clocks which may be wrong.
type wall struct {
	t      testing.TB
	store  *recorder
	policy *policy.Policy
	real   time.Time
	wrong  time.Duration // by how much the clock is wrong now
	began  []time.Time   // the real times of starts
	effect terms.Action  // what run starts; empty: asks
}

func newWall(t testing.TB, perDay int) *wall {
	p := policy.Default()
	*p = *queuetest.Policy
	p.Limits.MaxPerDay, p.Limits.MaxPerRun, p.Limits.PerSenderPerHour = perDay, 1000, 1000
	return &wall{t: t, store: &recorder{Memory: queuetest.NewMemory()}, policy: p, real: now}
}

func (w *wall) clock() time.Time { return w.real.Add(w.wrong) }

func (w *wall) do(op queuetest.Operation) {
	w.t.Helper()
	if err := op.Do(w.store, w.clock()); err != nil {
		w.t.Fatal(op.Name, err)
	}
}

// run starts and ends what may start, and returns how many tasks that were.
func (w *wall) run() (n int) {
	w.t.Helper()
	run := queue.Run{Policy: w.policy, Effect: w.effect, Max: w.policy.Limits.MaxPerRun, Now: w.clock}
	for ; ; n++ {
		var claim *queue.Claim
		err := queue.Update(w.store, func(tx *queue.Tx) (err error) {
			claim, _, err = run.Next(tx, func(string) error { return nil })
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
		if claim == nil {
			return n
		}
		w.began = append(w.began, w.real)
		w.do(queuetest.Finish(queue.End{}))
	}
}

// sweep does what a run does before it starts anything.
func (w *wall) sweep() {
	w.do(queuetest.Update("sweep", func(tx *queue.Tx, now time.Time) error {
		_, err := queue.Resurface(tx, &w.policy.Limits, now)
		return err
	}))
	w.do(queuetest.Update("sweep", func(tx *queue.Tx, now time.Time) error {
		_, err := queue.Expire(tx, &w.policy.Limits, now)
		return err
	}))
}

// within fails if more tasks started within a real day than the cap.
func (w *wall) within() {
	w.t.Helper()
	most := w.policy.Limits.MaxPerDay
	for i := most; i < len(w.began); i++ {
		if d := w.began[i].Sub(w.began[i-most]); d < store.Window {
			for _, l := range w.store.Log() {
				if l.Event == task.Started || l.Event == audit.ClockJumped {
					w.t.Logf("%s %s since %s before %s", l.Time.Format(time.RFC3339), l.Event, l.Change.Since.Format(time.RFC3339), l.Before.Format(time.RFC3339))
				}
			}
			w.t.Fatalf("%d tasks started within %s, the last at %s", most+1, d, w.began[i])
		}
	}
}

func (w *wall) events(e task.Event) (n int) {
	for _, l := range w.store.Log() {
		if l.Event == e {
			n++
		}
	}
	return n
}

// TestOneRunWithAWrongClock: it starts what the caps leave, and takes nothing from them or adds
// to them: once the clock is right again, no real day has more starts than the cap, and what
// starts then is not kept out for longer than a day.
func TestOneRunWithAWrongClock(t *testing.T) {
	for name, wrong := range map[string]time.Duration{
		"a day behind": -days, "two hours behind": -2 * time.Hour, "three days behind": -3 * days, "in 1999": -27 * 365 * days,
		"two days ahead": 2*days + time.Minute, "ten years ahead": 3650 * days, "in 2280": century,
	} {
		for _, before := range []int{0, 3, 5} { // of 5 that may start a day
			w := newWall(t, 5)
			w.do(queuetest.Add(queuetest.Mails(1, before)...))
			if n := w.run(); n != before {
				t.Fatalf("%s: %d started of %d", name, n, before)
			}
			w.real = w.real.Add(2 * time.Hour)
			w.do(queuetest.Add(queuetest.Mails(100, 40)...))
			w.wrong = wrong
			n := w.run()
			if n != 5-before {
				t.Errorf("%s: %d started before, and %d by that clock", name, before, n)
			}
			w.wrong = 0
			for range 3 * 24 * 2 { // every half an hour
				w.real = w.real.Add(30 * time.Minute)
				w.run()
			}
			w.within()
			if len(w.began) < 5+2*5 {
				t.Errorf("%s: %d starts in three days after %d", name, len(w.began), before)
			}
			w.store.check(t)
		}
	}
}

// TestCapsAfterASlowClock: once a clock is right again that was behind for so long that it was
// believed, what was started before that still counts.
func TestCapsAfterASlowClock(t *testing.T) {
	for _, wrong := range []time.Duration{-30 * time.Hour, -10 * days} {
		w := newWall(t, 5)
		w.do(queuetest.Add(queuetest.Mails(1, 60)...))
		for _, c := range []struct {
			later, wrong time.Duration
			want         int
		}{{0, 0, 5}, {2 * time.Hour, wrong, 0}, {70 * time.Minute, wrong, 0}, {0, 0, 0}, {70 * time.Minute, 0, 0}} {
			w.real, w.wrong = w.real.Add(c.later), c.wrong
			if n := w.run(); n != c.want {
				t.Errorf("%s: %d started, want %d, %s after the first by a clock %s off", wrong, n, c.want, w.real.Sub(now), c.wrong)
			}
			w.do(queuetest.Brake(audit.Released))
		}
		w.within()
		w.store.check(t)
	}
}

// TestCapsHoldByAnyClock: through random lives with clocks that are wrong for less than an hour
// at a time, or behind for hours, no real day has more starts than the cap; and with a right clock
// it has as many.
func TestCapsHoldByAnyClock(t *testing.T) {
	lives := 150
	if testing.Short() {
		lives = 15
	} else if os.Getenv("CI") != "" { // CI= runs them all
		lives = 60
	}
	for seed := range lives {
		r := rand.New(rand.NewPCG(uint64(seed), 28))
		w := newWall(t, 1+r.IntN(6))
		w.do(queuetest.Add(queuetest.Mails(1, 150)...))
		for range 60 {
			w.real = w.real.Add(time.Duration(r.IntN(int(7 * time.Hour))))
			w.do(queuetest.Brake(audit.Released)) // a line, from which a clock can be seen to jump
			w.run()
			for range r.IntN(3) {
				w.wrong = []time.Duration{-3 * time.Hour, -5 * time.Hour, -days, -3 * days, -400 * days, 3 * days, 40 * days, 9000 * days}[r.IntN(8)]
				long := 15 * time.Minute
				if w.wrong < 0 && r.IntN(2) == 0 {
					long = 90 * time.Minute
				}
				for range 1 + r.IntN(3) {
					w.run()
					w.real = w.real.Add(time.Duration(r.IntN(int(long))))
				}
				if w.wrong = 0; r.IntN(2) == 0 {
					w.do(queuetest.Brake(audit.Released))
				}
				w.run()
			}
		}
		sum := 0
		for i := range 4 * 24 {
			w.real = w.real.Add(time.Hour)
			if n := w.run(); i >= 2*24 {
				sum += n
			}
		}
		if w.within(); sum != 2*w.policy.Limits.MaxPerDay {
			t.Errorf("seed %d: %d starts in two days, want %d a day", seed, sum, w.policy.Limits.MaxPerDay)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		w.store.check(t)
	}
}

// TestATickAhead: what waits is neither told nor rejected by a clock that is years ahead; what
// came by that clock waits from when it is right again, is told and expires.
func TestATickAhead(t *testing.T) {
	w := newWall(t, 5)
	limits := &w.policy.Limits
	w.do(queuetest.Add(queuetest.Mail(1, terms.Review)))
	for w.real = w.real.Add(limits.Resurface); w.events(audit.Resurfaced) == 0; w.real = w.real.Add(time.Hour) {
		w.sweep()
	}
	w.wrong = 3650 * days
	w.do(queuetest.Add(queuetest.Mail(2, terms.Review)))
	w.sweep()
	w.sweep()
	w.do(queuetest.Forget)
	w.wrong = 0
	w.real = w.real.Add(5 * time.Minute)
	came := w.real
	w.sweep()
	if told, ended := w.events(audit.Resurfaced), w.events(task.Expired); told != 1 || ended != 0 {
		t.Fatalf("%d told, %d expired", told, ended)
	}
	w.do(queuetest.Add(queuetest.Mail(3, terms.Allow)))
	var lines []string
	for range 2 { // what a person signs elsewhere is good from then on, and the same each time
		w.real = w.real.Add(time.Minute)
		err := w.store.View(func(v store.View) error {
			c, err := queue.ClockOf(v, w.real)
			return errors.Join(err, v.Open(task.Awaiting, func(e store.Entry) (bool, error) {
				s, err := queue.Load(v, task.Awaiting, e.ID)
				a := queue.Asked(&s, &c, limits.ReviewExpires)
				if a.Given.After(w.real) || !a.Expires.After(w.real) {
					t.Errorf("asked from %s to %s", a.Given, a.Expires)
				}
				lines = append(lines, string(a.Statement()))
				return true, err
			}))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(lines) != 4 || !slices.Equal(lines[:2], lines[2:]) {
		t.Errorf("%q", lines)
	}
	toldAt, endedAt := time.Duration(0), time.Duration(0)
	for w.real.Sub(came) < limits.ReviewExpires+20*days {
		w.real = w.real.Add(6 * time.Hour)
		w.sweep()
		if w.events(audit.Resurfaced) == 2 && toldAt == 0 {
			toldAt = w.real.Sub(came)
		}
		if w.events(task.Expired) == 2 && endedAt == 0 {
			endedAt = w.real.Sub(came)
		}
	}
	if toldAt < limits.Resurface || toldAt > limits.Resurface+days || endedAt < limits.ReviewExpires || endedAt > limits.ReviewExpires+days {
		t.Errorf("told after %s, expired after %s", toldAt, endedAt)
	}
	w.store.check(t)
}

// TestTasksOfASlowClock: what came by a clock that was behind waits as long as anything else once it is
// right again, whether it was believed or not.
func TestTasksOfASlowClock(t *testing.T) {
	for _, long := range []time.Duration{10 * time.Minute, 2 * time.Hour} {
		w := newWall(t, 5)
		limits := &w.policy.Limits
		w.do(queuetest.Brake(audit.Released))
		w.wrong = -40 * days
		w.do(queuetest.Brake(audit.Released))
		w.real = w.real.Add(long / 2)
		w.do(queuetest.Add(queuetest.Mail(1, terms.Review)))
		w.real, w.wrong = w.real.Add(long/2), 0
		came, told := w.real, time.Duration(0)
		for w.events(task.Expired) == 0 && w.real.Sub(came) < limits.ReviewExpires+20*days {
			w.do(queuetest.Brake(audit.Released))
			w.sweep()
			if told == 0 && w.events(audit.Resurfaced) > 0 {
				told = w.real.Sub(came)
			}
			w.real = w.real.Add(6 * time.Hour)
		}
		if ended := w.real.Sub(came); told < limits.Resurface-long || told > limits.Resurface+days || ended < limits.ReviewExpires-long || ended > limits.ReviewExpires+days {
			t.Errorf("by a clock that was behind for %s: told after %s, expired after %s", long, told, ended)
		}
		w.store.check(t)
	}
}

// TestTasksAfterAWeekend: a clock is believed that is a month ahead, and then set right. What comes
// after days without a line waits since it came, and not since the clock went back.
func TestTasksAfterAWeekend(t *testing.T) {
	w := newWall(t, 5)
	limits := &w.policy.Limits
	w.do(queuetest.Brake(audit.Released))
	w.wrong = 30 * days
	for range 3 {
		w.do(queuetest.Brake(audit.Released))
		w.real = w.real.Add(time.Hour)
	}
	w.wrong = 0
	w.do(queuetest.Brake(audit.Released))
	w.real = w.real.Add(60 * time.Hour)
	w.do(queuetest.Add(queuetest.Mail(1, terms.Review)))
	came := w.real
	w.real = w.real.Add(60 * time.Hour)
	for w.events(audit.Resurfaced) == 0 && w.real.Sub(came) < limits.ReviewExpires {
		w.do(queuetest.Brake(audit.Released))
		w.sweep()
		w.real = w.real.Add(3 * time.Hour)
	}
	if told := w.real.Sub(came); told < limits.Resurface || told > limits.Resurface+days {
		t.Errorf("told after %s, want %s", told, limits.Resurface)
	}
	w.store.check(t)
}

// TestAYesByTwoClocks: one that has expired by the log is not revived by a clock that is behind,
// one that has not is not lost by a clock that is ahead, and one that was given by such a clock
// is not good for years.
func TestAYesByTwoClocks(t *testing.T) {
	grant := func(w *wall, good time.Duration) {
		w.do(queuetest.Update("grant", func(tx *queue.Tx, now time.Time) error {
			return queue.Grant(tx, approval.Grant{
				ID: "a1", Target: "bob@partner.example", By: "me", Level: approval.Terminal, Given: now, Expires: now.Add(good),
			}, now)
		}))
	}
	consumed := func(w *wall) bool {
		w.do(queuetest.Consume)
		return w.events(audit.Consumed) > 0
	}
	for name, c := range map[string]struct {
		given, later, wrong time.Duration
		want                bool
		believed            bool
		good                time.Duration // 0: 2 h
	}{
		"as it is":                           {given: 0, later: time.Hour, wrong: 0, want: true},
		"expired":                            {given: 0, later: 3 * time.Hour, wrong: 0, want: false},
		"good, and behind":                   {given: 0, later: 100 * time.Minute, wrong: -5 * time.Hour, want: true},
		"expired, and behind":                {given: 0, later: 3 * time.Hour, wrong: -5 * time.Hour, want: false},
		"good, and ahead":                    {given: 0, later: time.Hour, wrong: 300 * days, want: false}, // nobody knows
		"given ahead, and good for an hour":  {given: 300 * days, later: time.Hour, wrong: 0, want: true},
		"given ahead, and good for no year":  {given: 300 * days, later: 4 * time.Hour, wrong: 0, want: false},
		"given behind, and not good for now": {given: -300 * days, later: time.Hour, wrong: 0, want: false},
		"expired, and behind for an hour":    {later: 3 * time.Hour, wrong: -10 * days, believed: true},
		"expired, and a little behind":       {later: 25 * time.Hour, wrong: -5 * time.Hour, believed: true, good: 24 * time.Hour},
		"good, and behind for an hour":       {later: 3 * time.Hour, wrong: -10 * days, believed: true, good: 24 * time.Hour, want: true},
		"given ahead, believed, and good":    {given: 300 * days, later: 30 * time.Minute, believed: true, want: true},
	} {
		w := newWall(t, 5)
		w.do(queuetest.Brake(audit.Released))
		w.wrong = c.given
		grant(w, cmp.Or(c.good, 2*time.Hour))
		w.wrong = 0
		w.do(queuetest.Brake(audit.Released))
		w.real = w.real.Add(c.later)
		w.do(queuetest.Brake(audit.Released))
		if w.wrong = c.wrong; c.believed {
			w.do(queuetest.Brake(audit.Released))
			w.real = w.real.Add(61 * time.Minute)
		}
		if consumed(w) != c.want {
			t.Errorf("%s: spent %t", name, !c.want)
		}
		w.store.check(t)
	}
}

// TestApprovedTasksOutlastATick: a yes that a wrong clock finds expired is not lost.
func TestApprovedTasksOutlastATick(t *testing.T) {
	w := newWall(t, 5)
	w.effect = terms.ExternalSend
	w.do(queuetest.Add(queuetest.Effect(1)))
	w.do(queuetest.Update("approve", func(tx *queue.Tx, now time.Time) error {
		s, _, err := queuetest.First(tx, task.Awaiting)
		if err != nil {
			return err
		}
		return queue.Approve(tx, &s, queue.Yes(&s, "me", approval.Terminal, now), now)
	}))
	for _, wrong := range []time.Duration{3650 * days, 300 * days} {
		w.wrong = wrong
		if n := w.run(); n != 0 {
			t.Errorf("%s: it started", wrong)
		}
	}
	if w.wrong = 0; w.run() != 1 || w.events(task.Parked) != 0 {
		t.Error("the yes is lost")
	}
	w.store.check(t)
}

// TestConfirm: a person has a clock believed at once.
func TestConfirm(t *testing.T) {
	w := newWall(t, 5)
	w.do(queuetest.Add(queuetest.Mail(1, terms.Review)))
	w.real = w.real.Add(30 * days)
	w.sweep()
	if w.events(audit.Resurfaced) != 0 || w.events(audit.ClockJumped) != 1 {
		t.Fatal("a clock was believed at once, or the log does not say that it jumped")
	}
	w.sweep()
	if w.events(audit.ClockJumped) != 1 {
		t.Error("a clock jumped twice")
	}
	w.do(queuetest.Confirm)
	if w.sweep(); w.events(audit.Resurfaced) != 1 {
		t.Error("a clock is not believed although a person says so")
	}
	w.store.Lay(store.Clocks, "", store.Item{Bytes: []byte("{")})
	w.real = w.real.Add(time.Hour)
	w.do(queuetest.Nothing)
	w.do(queuetest.Add(queuetest.Mail(2, terms.Review)))
	if w.events(audit.ClockJumped) != 2 {
		t.Error("what is kept of the jump can't be read, and is not made anew")
	}
	w.store.check(t)
}
