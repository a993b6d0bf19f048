package queue_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

func limitsOf(resurface, expires time.Duration) *policy.Limits {
	l := policy.Default().Limits
	l.Resurface, l.ReviewExpires = resurface, expires
	return &l
}

// resurface tells of what waits for so long, in turns.
func (s *shelf) resurface(l *policy.Limits) (turns int) {
	s.t.Helper()
	for more := true; more; turns++ {
		err := s.update(func(tx *queue.Tx) (err error) {
			more, err = queue.Resurface(tx, l, now)
			return err
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return turns
}

// TestResurface: what waits for a person so long is told of, once, and stays what it was;
// what can't be read is left; many are taken in turns.
func TestResurface(t *testing.T) {
	limits := limitsOf(time.Hour, 2*time.Hour)
	list := []*queue.Stored{
		stored(1, task.Awaiting, 9*time.Hour, time.Hour),
		stored(2, task.Awaiting, 9*time.Hour, time.Hour-time.Second),
		stored(3, task.Scheduled, 9*time.Hour, 9*time.Hour),
		stored(4, task.Awaiting, 9*time.Hour, 2*time.Hour),
		told(stored(5, task.Awaiting, 9*time.Hour, 2*time.Hour), time.Minute),
	}
	list[0].Task.Attempts, list[0].Task.NotBefore = 2, now.Add(-time.Hour)
	s := newShelf(t, list...)
	s.Lay(store.On(task.Awaiting), list[3].Task.ID, store.Item{Bytes: []byte("{")})
	before := s.find(list[0].Task.ID).Task
	if turns := s.resurface(limits); turns != 1 {
		t.Error(turns)
	}
	s.resurface(limits)
	lines := s.lines()
	if len(lines) != 1 || lines[0].Event != audit.Resurfaced || lines[0].Task != list[0].Task.ID || lines[0].Moves() {
		t.Fatalf("%+v", lines)
	}
	before.Told = now
	if got := s.find(list[0].Task.ID).Task; got != before {
		t.Errorf("%+v, want %+v", got, before)
	}

	list = nil
	for i := range queue.MaxMoves + 1 {
		list = append(list, stored(i, task.Awaiting, 9*time.Hour, 9*time.Hour))
	}
	s = newShelf(t, list...)
	s.Fail = func(step string) error {
		if step == "Get" {
			return errBroken
		}
		return nil
	}
	err := s.update(func(tx *queue.Tx) error {
		_, err := queue.Resurface(tx, limits, now)
		return err
	})
	if !errors.Is(err, errBroken) || len(s.lines()) != 0 {
		t.Error(err, len(s.lines()))
	}
	s.Fail = nil
	if turns := s.resurface(limits); turns != 2 || len(s.lines()) != len(list) {
		t.Error(turns, len(s.lines()))
	}
	// What was told of is not loaded any more, nor does it expire before there was time to answer.
	gets := 0
	s.Fail = func(step string) error {
		if step == "Get" {
			gets++
		}
		return nil
	}
	s.resurface(limits)
	err = s.update(func(tx *queue.Tx) error {
		_, err := queue.Expire(tx, limits, now.Add(5*time.Minute))
		return err
	})
	if err != nil || gets != 2 { // the clock, in each Update
		t.Error("it reads what it need not:", gets, err)
	}
}

// TestStillPutOff: what its worker puts off again and again is told of once, however often
// it starts, and again only after something else came of it.
func TestStillPutOff(t *testing.T) {
	limits := limitsOf(10*time.Hour, 20*time.Hour)
	w := &world{store: &recorder{Memory: queuetest.NewMemory()}, now: now}
	do := func(op queuetest.Operation) {
		t.Helper()
		if err := op.Do(w.store, w.now); err != nil {
			t.Fatal(op.Name, err)
		}
	}
	finish := queuetest.Update("finish", func(tx *queue.Tx, now time.Time) error {
		s, found, err := queuetest.First(tx, task.Running)
		if !found || err != nil {
			t.Fatal(found, err)
		}
		_, err = queue.Finish(tx, &queue.Claim{Stored: s}, queue.End{Exit: 75}, limits, now)
		return err
	})
	resurfaced := func() (n int) {
		for _, l := range w.store.Log() {
			if l.Event == audit.Resurfaced {
				n++
			}
		}
		return n
	}
	do(queuetest.Add(queuetest.Mails(1, 1)...))
	w.now = w.now.Add(11 * time.Hour)
	for _, want := range []int{0, 1, 1, 1} { // the first time is not yet again and again
		do(queuetest.Start(""))
		do(finish)
		w.now = w.now.Add(25 * time.Hour)
		if n := resurfaced(); n != want {
			t.Errorf("told %d times, want %d", n, want)
		}
	}
	w.store.check(t)
	do(queuetest.CancelAll)
	do(queuetest.Requeue)
	for range 2 {
		do(queuetest.Start(""))
		do(finish)
		w.now = w.now.Add(25 * time.Hour)
	}
	if n := resurfaced(); n != 2 {
		t.Errorf("told %d times after it was put back, want 2", n)
	}
	w.store.check(t)
}

// A wait is how long a task has waited for a person by the log.
type wait struct {
	since, told time.Time
	commit      int // that told
}

// TestNothingExpiresUntold: through random lives, with a clock that jumps, runs that don't
// come for weeks, policies that change and tasks that move out and back, nothing expires
// that was not told of once before, in an earlier commit, with time left to answer; and
// nothing waits for ever.
func TestNothingExpiresUntold(t *testing.T) {
	lives, expired := 1000, 0
	if testing.Short() {
		lives = 300
	}
	for seed := range lives {
		expired += agingLife(t, rand.New(rand.NewPCG(uint64(seed), 7)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d lives: %d expired, all of them told of before", lives, expired)
	if expired < 5*lives {
		t.Errorf("%d expired: too few to show anything", expired)
	}
}

func agingLife(t *testing.T, r *rand.Rand) (expired int) {
	t.Helper()
	w := &world{store: &recorder{Memory: queuetest.NewMemory()}, now: now, n: 100}
	limits := limitsOf(72*time.Hour, 336*time.Hour)
	waits, read, commit := map[string]wait{}, 0, 0
	do := func(op queuetest.Operation) {
		t.Helper()
		if err := op.Do(w.store, w.now); err != nil {
			t.Fatal(op.Name, err)
		}
		log := w.store.Log()
		for ; read < len(log); read++ {
			l := &log[read]
			at := waits[l.Task]
			switch {
			case l.Event == audit.ClockJumped: // what lies ahead of it counts from here on
				for id, w := range waits {
					if w.since.After(l.Time) {
						w.since = l.Time
					}
					if w.told.After(l.Time) {
						w.told = l.Time
					}
					waits[id] = w
				}
			case l.Event == audit.Resurfaced && (!at.told.IsZero() || l.Time.Sub(at.since) < limits.Resurface):
				t.Errorf("%s: told at %s, since %s, told before at %s", l.Task, l.Time, at.since, at.told)
			case l.Event == audit.Resurfaced:
				at.told, at.commit = l.Time, commit
				waits[l.Task] = at
			case l.Event == task.Expired:
				answer := (limits.ReviewExpires - limits.Resurface) / 10
				if expired++; at.told.IsZero() || at.commit >= commit || l.Time.Sub(at.told) < answer || l.Time.Sub(at.since) < limits.ReviewExpires {
					t.Errorf("%s expired at %s: since %s, told %s", l.Task, l.Time, at.since, at.told)
				}
				delete(waits, l.Task)
			case l.Moves() && l.To == task.Awaiting:
				waits[l.Task] = wait{since: l.Time}
			case l.Moves():
				delete(waits, l.Task)
			}
			if !l.More {
				commit++
			}
		}
	}
	expire := queuetest.Update("expire", func(tx *queue.Tx, now time.Time) error {
		_, err := queue.Expire(tx, limits, now)
		return err
	})
	sweep := func() {
		do(queuetest.Update("resurface", func(tx *queue.Tx, now time.Time) error {
			_, err := queue.Resurface(tx, limits, now)
			return err
		}))
		do(expire)
	}
	for range 50 {
		w.n++
		w.now = w.now.Add(time.Duration(r.IntN(24 * int(time.Hour))))
		switch r.IntN(12) {
		case 0, 1:
			do(queuetest.Add(queuetest.Mail(w.n, terms.Review), queuetest.Effect(w.n)))
		case 2:
			do(queuetest.Approve)
		case 3: // out, and back if it is one whose end is not known
			do(queuetest.Start(terms.ExternalSend))
			do(queuetest.Finish(queue.End{Exit: []int{0, 1, 1, 75}[r.IntN(4)]}))
		case 4:
			do(queuetest.Deny)
		case 5:
			do(queuetest.Requeue)
		case 6:
			w.now = w.now.Add(time.Duration(r.IntN(40*24)) * time.Hour) // nothing ran for weeks
		case 7:
			w.now = w.now.Add(-time.Duration(r.IntN(20*24)) * time.Hour)
		case 8:
			expires := time.Duration(1+r.IntN(600)) * time.Hour
			limits = limitsOf(expires*time.Duration(1+r.IntN(99))/100, expires)
		case 9:
			do(expire)
		default:
			sweep()
		}
	}
	w.store.check(t)
	for _, later := range []time.Duration{9999 * time.Hour, 2 * time.Hour, 9999 * time.Hour, 2 * time.Hour} {
		w.now = w.now.Add(later) // after a jump, it takes an hour until the clock is believed
		sweep()
	}
	if left := w.store.count(task.Awaiting); left != 0 {
		t.Errorf("%d still wait", left)
	}
	return expired
}

func (r *recorder) count(st task.State) (n int) {
	_ = r.View(func(v store.View) error {
		n = v.Counts().Tasks[st]
		return nil
	})
	return n
}
