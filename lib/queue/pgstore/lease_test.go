package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/queue"
	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// leases are runs of machines whose clock a test puts ahead.
type leases struct {
	*fleet
	d     *pgtest.DB
	p     *proxy // in the way of machine1
	ahead atomic.Int64
	one   *member
	two   *member
	ann   *member
}

// leasesOf returns a queue with an ask.
func leasesOf(t *testing.T) *leases {
	l := &leases{fleet: fleetOf(t), d: pgtest.New(t)}
	l.p = proxyTo(t, l.d)
	undo := pgstore.Every(time.Millisecond, func() time.Duration { return time.Duration(l.ahead.Load()) })
	t.Cleanup(undo)
	l.one = l.member(l.p.dsn(l.d, "machine1"), nil)
	l.two, l.ann = l.member(l.d.DSN("machine2"), nil), l.member(l.d.DSN("ann"), nil)
	l.one.put(queuetest.Mail(1, terms.Allow))
	return l
}

func (l *leases) pass(d time.Duration) { l.ahead.Add(int64(d)) }

// begin starts a task on machine1.
func (l *leases) begin(effect terms.Action) (*queue.Claim, runner.Hold) {
	l.t.Helper()
	claim, hold, err := l.one.claim(queue.Run{Policy: l.policy, Effect: effect, Max: 1, Now: time.Now})
	if err != nil || claim == nil {
		l.t.Fatalf("nothing starts: %v", err)
	}
	return claim, hold
}

// where returns the state of a task.
func (l *leases) where(id string) (st task.State) {
	l.t.Helper()
	err := l.two.View(func(v store.View) (err error) {
		st, err = v.Where(id)
		return err
	})
	if err != nil {
		l.t.Error(err)
	}
	return st
}

// finish records the end of a claim.
func finish(s store.Store, c *queue.Claim, end queue.End) error {
	return queue.Update(s, func(tx *queue.Tx) error {
		_, err := queue.Finish(tx, c, end, &queuetest.Policy.Limits, time.Now())
		return err
	})
}

func reaps(s store.Store, dead func(string) bool) error {
	return queue.Update(s, func(tx *queue.Tx) error {
		_, err := queue.Reap(tx, &queuetest.Policy.Limits, time.Now(), dead)
		return err
	})
}

func closed(c <-chan struct{}) func() bool {
	return func() bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
}

// beaten says that a beat came since the lease was cut short.
func (l *leases) beaten() {
	l.t.Helper()
	l.d.Exec(l.t, "UPDATE pulse.run SET until = 'epoch'")
	l.pass(pgstore.BeatEvery)
	l.d.Exec(l.t, `DO $$
		DECLARE until timestamptz := clock_timestamp() + '10 min';
		BEGIN
			WHILE (SELECT r.until = 'epoch' FROM pulse.run r) LOOP
				ASSERT clock_timestamp() < until, 'no beat comes';
				PERFORM pg_sleep(0.002);
			END LOOP;
		END $$`)
}

// TestSilence: while beats come a run goes on. Without them its worker is told to end before the
// lease ends, and the task is started again. A server whose processes are all stopped is as
// silent as a network that hangs; it carries a beat out when nobody waits for it any more.
func TestSilence(t *testing.T) {
	defer pgstore.Beat(time.Hour)() // its own end is not what ends the wait
	for _, how := range []string{"never connected", "hangs", "stopped"} {
		l := leasesOf(t)
		claim, hold := l.begin("")
		if how != "never connected" {
			for range 12 { // longer than a lease
				l.beaten()
			}
		}
		living := make(chan struct{})
		ended := make(chan runner.End, 1)
		go func() {
			w := runner.Worker{
				Path: "/bin/sleep", Argv: []string{"sleep", "600"}, Env: hold.Env(), Lock: hold.Worker(), Gone: hold.Gone(),
			}
			end, err := runner.Run(context.Background(), &w, func(pid int) error { close(living); return hold.Handed(pid) })
			if err != nil {
				t.Error(err)
			}
			ended <- end
		}()
		<-living
		l.p.arm(-1, false)
		hang, thaw, waiting := l.p.hang, l.p.thaw, l.p.waiting
		if how == "stopped" {
			hang, thaw, waiting = l.d.Freeze, l.d.Thaw, func() bool { return len(l.p.arm(-1, false)) > 0 }
			t.Cleanup(thaw)
		}
		hang()
		l.pass(pgstore.BeatEvery)
		until(t, "a beat hangs", waiting)
		select {
		case end := <-ended:
			t.Fatalf("too early: %+v", end)
		default:
		}
		l.pass(pgstore.Silence - pgstore.BeatEvery)
		end := <-ended
		if !end.Cancelled || !hold.Lapsed() {
			t.Errorf("%s: %+v, %v", how, end, hold.Lapsed())
		}
		thaw()
		if err := finish(l.one, claim, queue.End{Exit: end.Exit, Stopped: true}); err != nil {
			t.Error(err)
		}
		hold.Drop()
		if st := l.where(claim.Task.ID); st != task.Scheduled {
			t.Errorf("the task is %s", st)
		}
		if !l.two.turn(l.policy, "", nil) {
			t.Error("the task does not start again")
		}
		l.check(l.d.DSN("machine1"))
	}
}

// TestDrop: who ends a run does not wait for a beat that hangs.
func TestDrop(t *testing.T) {
	defer pgstore.Beat(time.Hour)()
	for _, connected := range []bool{false, true} {
		l := leasesOf(t)
		_, hold := l.begin("")
		if connected {
			l.beaten()
		}
		l.p.hang()
		l.pass(pgstore.BeatEvery)
		until(t, "a beat hangs", l.p.waiting)
		dropped := make(chan struct{})
		go func() { hold.Drop(); close(dropped) }()
		until(t, "it is dropped", closed(dropped))
		if closed(hold.Gone())() {
			t.Error("it is gone, too")
		}
	}
}

// TestCancel: a worker whose task a person cancelled is told so by the next beat, and the
// person hears when it has ended.
func TestCancel(t *testing.T) {
	l := leasesOf(t)
	claim, hold := l.begin("")
	defer hold.Drop()
	id := claim.Task.ID
	err := queue.Update(l.ann, func(tx *queue.Tx) error {
		_, err := queue.Cancel(tx, id, "ann", time.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if l.ann.Runs().WaitGone(id, time.Millisecond) {
		t.Error("the worker lives, and is said to be gone")
	}
	l.pass(pgstore.BeatEvery)
	until(t, "the worker is told", closed(hold.Gone()))
	if hold.Lapsed() {
		t.Error("a person took the task back, and the lease is said to have lapsed")
	}
	if err := finish(l.one, claim, queue.End{}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("%v", err)
	}
	ended := func(tx *queue.Tx) error { return queue.FinishCancelled(tx, claim, queue.End{Exit: -1}, time.Now()) }
	if err := queue.Update(l.one, ended); err != nil {
		t.Error(err)
	}
	if !l.ann.Runs().WaitGone(id, bound) {
		t.Error("the worker has ended, and is not said to be gone")
	}
	l.check(l.d.DSN("machine1"))
}

// TestTakenBack: another machine takes a run back after its lease, and not before. An ask is
// started once more, by a higher fence; what the first run brings then is refused. An effect
// waits for a person.
func TestTakenBack(t *testing.T) {
	l := leasesOf(t)
	claim, hold := l.begin("")
	defer hold.Drop()
	id := claim.Task.ID
	l.keepsOff(id)
	l.d.Exec(t, "UPDATE pulse.run SET until = clock_timestamp() - interval '1 ms'")
	l.pass(pgstore.BeatEvery / 2)
	again := l.two.turn(l.policy, "", func(second *queue.Claim, other runner.Hold) {
		if second.Task.ID != id || slices.Equal(other.Env(), hold.Env()) || l.starts[1].fence <= l.starts[0].fence {
			t.Errorf("%s, %s after %s", second.Task.ID, other.Env(), hold.Env())
		}
		if err := finish(l.one, claim, queue.End{Result: []byte("late")}); !errors.Is(err, store.ErrConflict) {
			t.Errorf("a late end: %v", err)
		}
		l.pass(pgstore.BeatEvery)
		until(t, "the worker is told", closed(hold.Gone()))
		if hold.Lapsed() || closed(other.Gone())() {
			t.Error("the wrong one is told, or why")
		}
		ended := func(tx *queue.Tx) error { return queue.FinishCancelled(tx, claim, queue.End{Exit: -1}, time.Now()) }
		if err := queue.Update(l.one, ended); err != nil {
			t.Error(err)
		}
		l.beaten() // the second run is still there
	})
	if st := l.where(id); !again || st != task.Completed {
		t.Errorf("%v, %s", again, st)
	}
	if len(l.starts) != 2 {
		t.Errorf("%d starts", len(l.starts))
	}
	l.check(l.d.DSN("machine1"))
}

// sayYes approves the first task that waits.
func sayYes(tx *queue.Tx) error {
	s, _, err := queuetest.First(tx, task.Awaiting)
	if err != nil {
		return err
	}
	return queue.Approve(tx, &s, queue.Yes(&s, "ann", approval.Terminal, time.Now()), time.Now())
}

// keepsOff looks whether machine2 leaves a run of machine1 alone.
func (l *leases) keepsOff(id string) {
	l.t.Helper()
	if err := reaps(l.two, l.two.Runs().Dead); err != nil || l.where(id) != task.Running {
		l.t.Errorf("inside the lease: %v, %s", err, l.where(id))
	}
	err := reaps(l.two.Store, func(string) bool { return true })
	if err == nil || fault.KindOf(err) != fault.Failed || !strings.Contains(err.Error(), "another machine") {
		l.t.Errorf("the server lets it: %v", err)
	}
}

// TestEffectTakenBack: nobody knows whether an effect happened whose run was taken back, and
// nothing starts it again but a person's yes.
func TestEffectTakenBack(t *testing.T) {
	l := leasesOf(t)
	l.one.put(queuetest.Effect(1))
	if err := queue.Update(l.ann, sayYes); err != nil {
		t.Fatal(err)
	}
	claim, hold := l.begin(terms.ExternalSend)
	defer hold.Drop()
	id := claim.Task.ID
	l.keepsOff(id)
	l.d.Exec(t, "UPDATE pulse.run SET until = clock_timestamp() - interval '1 ms'")
	for _, m := range []*member{l.two, l.two, l.one} {
		if m.turn(l.policy, terms.ExternalSend, nil) {
			t.Errorf("%s starts it again", m.name)
		}
	}
	var reason string
	err := l.two.View(func(v store.View) error {
		s, err := queue.Find(v, id)
		reason = s.Task.Reason
		return err
	})
	if err != nil || reason != queue.ReasonUnknownEffect || l.where(id) != task.Awaiting {
		t.Errorf("%s, %v, %s", reason, err, l.where(id))
	}
	if err := finish(l.one, claim, queue.End{}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a late end: %v", err)
	}
	if err := queue.Update(l.ann, sayYes); err != nil || !l.two.turn(l.policy, terms.ExternalSend, nil) {
		t.Errorf("another yes does not start it: %v", err)
	}
	l.check(l.d.DSN("machine1"))
}

// TestSameMachine: what died here is put back at once, because the kernel says that it is dead;
// what this login runs with locks elsewhere, only after its lease.
func TestSameMachine(t *testing.T) {
	l := leasesOf(t)
	claim, hold := l.begin("")
	id, next := claim.Task.ID, l.member(l.one.name, nil)
	dead := next.Runs().Dead
	if err := reaps(next, dead); err != nil || l.where(id) != task.Running {
		t.Errorf("it lives: %v, %s", err, l.where(id))
	}
	hold.Drop()                                                                                   // as its death would
	l.d.Exec(t, "UPDATE pulse.run SET host = split_part(host, '/', 1) || '/' || repeat('A', 26)") // as that of a container with this name
	if err := reaps(next, dead); err != nil || l.where(id) != task.Running {
		t.Errorf("elsewhere: %v, %s", err, l.where(id))
	}
	if text := next.Runs().Elsewhere(id); !strings.HasPrefix(text, "machine1 on ") || strings.Contains(text, "/") {
		t.Errorf("%q", text)
	}
	l.d.Exec(t, "UPDATE pulse.run SET host = '"+l.one.Here()+"'")
	if text := next.Runs().Elsewhere(id); text != "" {
		t.Errorf("%q", text)
	}
	if err := reaps(next, dead); err != nil || l.where(id) != task.Scheduled {
		t.Errorf("dead: %v, %s", err, l.where(id))
	}
	if !next.turn(l.policy, "", nil) {
		t.Error("it does not start again")
	}
	l.check(l.d.DSN("machine1"))
}

// TestOtherNames: a run that lives is not put back by a command of its own login that spells the
// queue otherwise, nor by one that has its locks elsewhere: of another account, with another
// state directory, in a container with the same name.
func TestOtherNames(t *testing.T) {
	for _, effect := range []terms.Action{"", terms.ExternalSend} {
		l := leasesOf(t)
		if effect != "" {
			l.one.put(queuetest.Effect(1))
			if err := queue.Update(l.ann, sayYes); err != nil {
				t.Fatal(err)
			}
		}
		claim, hold := l.begin(effect)
		id, socket := claim.Task.ID, strings.ReplaceAll(l.p.dir, "/", "%2F")
		link := t.TempDir() + "/s"
		if err := os.Symlink(l.p.dir, link); err != nil {
			t.Fatal(err)
		}
		services := t.TempDir() + "/services"
		text := "[one]\nhost=" + l.p.dir + "\ndbname=" + l.d.Name + "\nuser=machine1\n"
		if err := os.WriteFile(services, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PGSERVICEFILE", services)
		for what, name := range map[string]string{
			"another socket":        l.d.DSN("machine1"),
			"more hosts":            strings.Replace(l.one.name, socket, "%2Fnone,"+socket, 1),
			"the other order":       strings.Replace(l.one.name, socket, socket+",%2Fnone", 1),
			"a link to the socket":  strings.Replace(l.one.name, socket, strings.ReplaceAll(link, "/", "%2F"), 1),
			"a service":             "postgres:///?service=one",
			"another scheme's name": strings.Replace(l.one.name, "postgres:", "postgresql:", 1),
		} {
			if err := l.lives(name, id); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if _, err := l.member(name, nil).Runs().Take(id); !errors.Is(err, unix.EWOULDBLOCK) {
				t.Errorf("%s: its locks can be taken: %v", what, err)
			}
		}
		own := l.state
		l.state = t.TempDir() // as another account's is, or another container's
		if err := l.lives(l.one.name, id); err != nil {
			t.Errorf("no locks elsewhere: %v", err)
		}
		other := l.member(l.one.name, nil)
		taken, err := other.Runs().Take(id)
		if err != nil {
			t.Fatal(err)
		}
		taken.Drop()
		if err := l.lives(l.one.name, id); err != nil {
			t.Errorf("locks elsewhere: %v", err)
		}
		l.state = own
		hold.Drop()
		if err := l.lives(l.one.name, id); err == nil {
			t.Error("it is dead, and is not put back at once")
		}
		l.check(l.d.DSN("machine1"))
	}
}

// lives returns an error if a new command puts a task back.
func (l *leases) lives(name, id string) error {
	next := l.member(name, nil)
	if err := reaps(next, next.Runs().Dead); err != nil {
		return err
	}
	if err := reaps(next, next.Runs().Seen()); err != nil {
		return err
	}
	if st := l.where(id); st != task.Running {
		return fmt.Errorf("it is in %s", st)
	}
	return nil
}

// TestHangingHost: a host of the name that hangs does not keep a beat, or a command, from the
// other one.
func TestHangingHost(t *testing.T) {
	l := leasesOf(t)
	t.Setenv("PGCONNECT_TIMEOUT", "") // pulse's own limit
	name := strings.Replace(l.p.dsn(l.d, "machine1"), "?host=", "?host="+strings.ReplaceAll(l.p.dir, "/", "%2F")+",", 1)
	name = name[:strings.LastIndex(name, ",")+1] + strings.ReplaceAll(l.d.Dir, "/", "%2F")
	l.one = l.member(name, nil)
	_, hold := l.begin("")
	defer hold.Drop()
	l.p.hang()
	opened := make(chan error, 1)
	go func() {
		s, err := pgstore.Open(context.Background(), name)
		if err == nil {
			s.Close()
		}
		opened <- err
	}()
	l.beaten()
	if err := <-opened; err != nil {
		t.Error(err)
	}
	if closed(hold.Gone())() {
		t.Error("the run is gone")
	}
}
