package pgstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
)

// crew is how many there are.
const crew = 7

// crew begins two that add, four that run and one that says yes, on two machines.
func (f *fleet) crew(machine1, machine2, ann string) (all []*member) {
	for _, name := range []string{machine1, machine2} {
		all = append(all, f.member(name, (*member).adds), f.member(name, (*member).runs), f.member(name, (*member).runs))
	}
	return append(all, f.member(ann, (*member).approves))
}

// sail begins a crew that knows both servers of a pair, and waits until it is at work.
func (f *fleet) sail(p *pgtest.Pair) {
	f.t.Helper()
	f.crew(hosts("machine1", p), hosts("machine2", p), hosts("ann", p))
	f.more(100, 15)
}

func hosts(login string, p *pgtest.Pair) string {
	return pgtest.Hosts(login, p.Primary.Dir, p.Standby.Dir)
}

// stuck waits until n members wait, for the standby or for the one who does, and returns
// how much is acknowledged.
func (f *fleet) stuck(s *pgtest.Server, n int) int {
	f.t.Helper()
	s.Do(f.t, fmt.Sprintf(`DO $$
		DECLARE until timestamptz := clock_timestamp() + '10 min';
		BEGIN
			WHILE (SELECT count(*) < %d OR NOT bool_or(wait_event = 'SyncRep') FROM pg_stat_activity
					WHERE wait_event = 'SyncRep' OR usename <> current_user AND wait_event_type = 'Lock') LOOP
				ASSERT clock_timestamp() < until, 'too few wait';
				PERFORM pg_stat_clear_snapshot(), pg_sleep(0.005);
			END LOOP;
		END $$`, n))
	return f.acknowledged()
}

// acknowledged counts the lines that were, and the commits that were in doubt before.
func (f *fleet) acknowledged() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.lines) + f.had
}

// gaveUp counts the commits of which nothing came.
func (f *fleet) gaveUp() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.undone
}

// TestKilled: the primary is killed, and its standby takes its place.
func TestKilled(t *testing.T) {
	p, f := pgtest.NewPair(t, true), fleetOf(t)
	f.sail(p)
	p.Primary.Kill()
	p.Standby.Promote(t)
	f.more(100, 15)
	f.end()
	f.check(hosts("machine1", p))
}

// TestParted: the standby is promoted while the primary lives, and each has clients. The old
// one, which waits for a standby in vain, acknowledges nothing any more.
func TestParted(t *testing.T) {
	p, f := pgtest.NewPair(t, true), fleetOf(t)
	toOld, toNew := proxyAt(t, p.Primary.Dir), proxyAt(t, p.Standby.Dir)
	toNew.close(true) // machine1 sees only the old one, until that is dead
	near := pgtest.Hosts("machine1", p.Primary.Dir, toNew.dir)
	here := f.crew(near, pgtest.Hosts("machine2", p.Standby.Dir, toOld.dir), pgtest.Hosts("ann", p.Standby.Dir, toOld.dir))[:3]
	f.more(100, 15)
	toOld.part() // and the others only the new one
	p.Standby.Promote(t)
	before := f.stuck(p.Primary, 3)
	acked := func() (n int64) {
		for _, m := range here {
			n += m.acked.Load()
		}
		return n
	}
	old := acked()
	f.more(100, 15)
	if n := acked() - old; n != 0 {
		t.Errorf("%d acknowledged by the old one, after %d", n, before)
	}
	p.Primary.Kill()
	toNew.close(false)
	until(t, "machine1 is back", func() bool { return acked() > old })
	f.more(50, 5)
	f.end()
	f.check(hosts("machine1", p))
}

// TestAway: without its standby a primary acknowledges nothing, and what waits can be ended.
// What was in doubt then is as the log says once the standby is back.
func TestAway(t *testing.T) {
	p, f := pgtest.NewPair(t, true), fleetOf(t)
	f.sail(p)
	p.Standby.Freeze()
	before := f.stuck(p.Primary, crew)
	late := f.member(hosts("machine1", p), nil)
	if err := late.View(func(v store.View) error { return nil }); err != nil {
		t.Errorf("a View waits for the standby: %v", err)
	}
	if !testing.Short() {
		if err := queuetest.Nothing.Do(late, time.Now()); !errors.Is(err, store.ErrLocked) {
			t.Errorf("after a minute: %v", err)
		}
	}
	f.tell()
	if after := f.acknowledged(); after != before || f.undecided != 1 {
		t.Errorf("%d acknowledged, %d not decided", after-before, f.undecided)
	}
	p.Standby.Thaw()
	f.again()
	f.sail(p)
	f.end()
	f.check(hosts("machine1", p))
}

// again lets a fleet begin once more.
func (f *fleet) again() {
	f.over.Store(false)
	f.told = make(chan struct{})
	f.last = time.Now()
}

// TestCancelledThenKilled: commits whose wait for the standby was cancelled or ended, so that
// they are on the primary and nowhere else, are not acknowledged; and then the primary dies.
func TestCancelledThenKilled(t *testing.T) {
	p, f := pgtest.NewPair(t, true), fleetOf(t)
	f.sail(p)
	p.Standby.Kill()
	before := f.stuck(p.Primary, crew)
	for n, how := range []string{"cancel", "terminate", "cancel"} {
		p.Primary.Do(t, "SELECT pg_"+how+"_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
		if after := f.stuck(p.Primary, crew); after != before {
			t.Fatalf("%d: %d acknowledged", n, after-before)
		}
	}
	p.Primary.Kill()
	p.Standby.Restart(t)
	p.Standby.Promote(t)
	f.more(100, 15)
	f.end()
	f.check(hosts("machine1", p))
}

// TestRestarted: what a restarted primary shows, although its standby does not have it, is
// not acknowledged before the standby has it.
func TestRestarted(t *testing.T) {
	p, f := pgtest.NewPair(t, true), fleetOf(t)
	f.sail(p)
	p.Primary.Stop()
	p.Primary.Restart(t)
	f.more(50, 5)
	p.Standby.Kill()
	before := f.stuck(p.Primary, crew)
	p.Primary.Kill()
	p.Primary.Restart(t)
	was := f.gaveUp()
	until(t, "they look, and give up", func() bool { return f.gaveUp() >= was+crew })
	if after := f.acknowledged(); after != before {
		t.Fatalf("%d acknowledged", after-before)
	}
	p.Primary.Kill()
	p.Standby.Restart(t)
	p.Standby.Promote(t)
	f.more(50, 5)
	f.end()
	f.check(hosts("machine1", p))
}

// TestBehind: a standby without the last lines takes the place of a primary that did not wait
// for it. Every machine that saw one of these lines notices, and starts nothing any more. One
// that remembers nothing would start again what was started.
func TestBehind(t *testing.T) {
	p, f := pgtest.NewPair(t, false), fleetOf(t)
	toNew := proxyAt(t, p.Standby.Dir)
	toNew.close(true) // until it was looked at
	name := func(login string) string { return pgtest.Hosts(login, p.Primary.Dir, toNew.dir) }
	f.remember = t.TempDir()
	all := f.crew(name("machine1"), name("machine2"), name("ann"))
	f.more(300, 20)
	p.Standby.Stop()
	seen := map[*member]int64{}
	for _, m := range all {
		seen[m] = m.acked.Load()
	}
	until(t, "each has seen ten lines more", func() bool {
		return !slices.ContainsFunc(all, func(m *member) bool { return m.acked.Load() < seen[m]+10 })
	})
	p.Primary.Kill()
	p.Standby.Restart(t)
	p.Standby.Promote(t)
	base := int64(len(logged(t, open(t, pgtest.Hosts("reader1", p.Standby.Dir)))))
	toNew.close(false)
	adds := func() (n int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.receipts)
	}
	had := adds()
	until(t, "tasks are added again", func() bool { return adds() > had+40 })
	f.end()

	log, lost := f.log(name("machine1"))
	forgot := map[*member]int{}
	for _, line := range lost {
		forgot[f.lines[line]]++
	}
	again := 0
	for _, st := range f.starts {
		if st.fence > base && log.started[st.fence] == st.id && forgot[st.by] > 0 {
			t.Errorf("%s started %+v, and has seen %d lines that are lost", st.by.name, st, forgot[st.by])
		}
	}
	for _, m := range all {
		var said string
		err := m.View(func(v store.View) (err error) {
			said, err = v.Lost()
			return err
		})
		if err != nil || (said == "") != (forgot[m] == 0) {
			t.Errorf("%s lost %d lines, and says %q, %v", m.name, forgot[m], said, err)
		}
	}
	f.remember = ""
	ignorant := f.member(hosts("machine2", p), nil)
	begun := map[string]bool{}
	for _, st := range f.starts {
		begun[st.id] = true
	}
	for ignorant.turn(f.policy, "", nil) {
		if last := f.starts[len(f.starts)-1]; begun[last.id] {
			again++
		}
	}
	if len(lost) == 0 || again == 0 {
		t.Errorf("%d lines are lost, and %d tasks would start twice: nothing was tried", len(lost), again)
	}
	t.Logf("%d of %d acknowledged lines are lost; %d of %d members noticed, who started nothing more; one that forgets starts %d twice",
		len(lost), len(f.lines), len(forgot), len(all), again)
}
