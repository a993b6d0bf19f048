package spool

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/disk/disktest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// The crash tests run every operation of the queue on disktest and end it at every
// step: by a kill, by an error, by a power cut. Whatever happens, the queue must then be
// as before the operation or as after it, say so again after the next power cut, and
// pass Verify (queuetest).

// The life of these tests is that of queuetest.
type operation = queuetest.Operation

var (
	epoch   = queuetest.Epoch
	ours    = queuetest.Policy
	history = queuetest.Life

	mail, mails, effect, sessionMail = queuetest.Mail, queuetest.Mails, queuetest.Effect, queuetest.SessionMail

	add, update, start, finish, propose = queuetest.Add, queuetest.Update, queuetest.Start, queuetest.Finish, queuetest.Propose
	grant, session, brake               = queuetest.Grant, queuetest.Session, queuetest.Brake

	approve, deny, reap      = queuetest.Approve, queuetest.Deny, queuetest.Reap
	cancel, cancelAll, prune = queuetest.Cancel, queuetest.CancelAll, queuetest.Prune
	take, nothing, refuse    = queuetest.Take, queuetest.Nothing, queuetest.Refuse

	first, dump, decided = queuetest.First, queuetest.Dump, queuetest.Decided
)

// thin says that what is long is thinned: each test says how.
var thin = os.Getenv("CI") != ""

func init() { debug.SetGCPercent(400) } // collecting garbage was a quarter of what these tests compute

// unlocked is the lock of a queue that only this test knows.
type unlocked struct{}

func (unlocked) take() (func(), error) { return func() {}, nil }
func (unlocked) try() (func(), error)  { return func() {}, nil }

func spoolOn(d *disktest.FS) *Spool {
	s := &Spool{dir: "/queue", disk: d, lock: unlocked{}, clock: func() time.Time { return epoch }}
	s.log = begin(d)
	return s
}

// medium is a disk that forgets, with a spool on it.
type medium struct {
	*disktest.FS
	late bool // what was interrupted is repaired a month later, in another segment of the log
}

func (m medium) Run(op *operation, now time.Time, r *rand.Rand) error {
	m.Account = accountOf(*op)
	if r != nil { // anyone may be the one who repairs it
		m.Account = []int{owner, approver}[r.IntN(2)]
	}
	s := spoolOn(m.FS)
	s.clock = func() time.Time { return now }
	if m.late {
		s.clock = func() time.Time { return now.AddDate(0, 1, 0) }
	}
	err := attempt(*op, s, now)
	if err == disktest.ErrKilled {
		err = queuetest.ErrKilled
	}
	return err
}

func (m medium) Clone() queuetest.Medium { return medium{m.FS.Clone(), m.late} }

func (m medium) Interrupt(step int, how string) {
	if m.Ops, m.Fault = 0, nil; how != "" {
		m.Fault = disktest.At(step, disktest.Fates[how])
	}
}

func (m medium) Steps() int { return m.Ops }

func (m medium) Sound() error { return sound(spoolOn(m.FS)) }

func (m medium) Sum(durable bool) string { return m.FS.Sum(durable) }

// attempt runs an operation and returns its error, or disktest.ErrKilled.
func attempt(op operation, s *Spool, now time.Time) error {
	return disktest.Run(func() error { return op.Do(s, now) })
}

// world is a world whose disk a test can reach.
type world struct{ *queuetest.World }

func (w world) disk() *disktest.FS { return w.Medium.(medium).FS }

func newWorld(t *testing.T, ordered, shared bool) world {
	t.Helper()
	d := disktest.New()
	d.Ordered, d.Group = ordered, shared
	w, err := queuetest.NewWorld(medium{FS: d})
	if err != nil {
		t.Fatal(err)
	}
	return world{w}
}

// repaired is the world in which repairs are late or not.
func (w world) repaired(late bool) *queuetest.World {
	w.Medium = medium{w.disk(), late}
	return w.World
}

// after is the world after some operations.
func (w world) after(t *testing.T, ops ...operation) world {
	t.Helper()
	for _, op := range ops {
		next, err := w.After(op)
		if err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
		w = world{next}
	}
	return w
}

// sound checks what holds at any time.
func sound(s *Spool) error {
	report, err := s.Verify("")
	if err == nil && len(report.Findings) > 0 {
		err = errors.New("verify: " + strings.Join(report.Findings, "; "))
	}
	where := map[string]string{}
	s.disk.(*disktest.FS).Each(func(name string, _ int) {
		dir, id, _ := strings.Cut(name, "/")
		if !slices.Contains(task.States, task.State(dir)) {
			return
		}
		if where[id] != "" {
			err = errors.Join(err, fmt.Errorf("%s is in %s and in %s", id, where[id], dir))
		}
		where[id] = dir
	})
	return errors.Join(err, forged(s.disk.(*disktest.FS)))
}

// sample is how many steps are interrupted: all, or with -short and under CI some of each operation.
// CI= scripts/test long runs all of them, and so does go test -run '^Test(Crash|Reads)' ./lib/queue/spool.
func sample(shared bool) queuetest.Sample {
	s := queuetest.Sample{Stride: 1, Seeds: 3}
	if shared {
		s.Worth = ofAnswers // the other worlds have been at the rest
	}
	if testing.Short() {
		s.Stride, s.Seeds = 31, 2
	} else if thin {
		s.Stride, s.Seeds = 2, 2
	}
	return s
}

// TestCrashEverywhere ends every operation of a life in each of its steps.
func TestCrashEverywhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ordered, shared, late bool }{{ordered: true, late: true}, {}, {shared: true}} {
		cases, err := queuetest.Everywhere(newWorld(t, c.ordered, c.shared).repaired(c.late), history, sample(c.shared))
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		t.Logf("%+v: %d interruptions", c, cases)
	}
}

// TestReadsFail: an operation that can't read what it needs changes nothing, or all that it was to.
func TestReadsFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false, true)
	w.disk().Reads = true
	s := sample(false)
	s.Seeds = 1
	cases, err := queuetest.Everywhere(w.World, history, s)
	if err != nil || cases < 100 {
		t.Errorf("%d reads: %v", cases, err)
	}
}

// TestCrashInALongShard: the twelfth id of a shard would lie across two sectors if the
// width of its lines did not divide one.
func TestCrashInALongShard(t *testing.T) {
	t.Parallel()
	mails := alike(13)
	ops := []operation{add(mails[:11]...), cancelAll, prune, add(mails[11:]...), cancelAll, prune, brake("held")}
	for _, ordered := range []bool{true, false} {
		if _, err := queuetest.Everywhere(newWorld(t, ordered, false).repaired(ordered), ops, sample(false)); err != nil {
			t.Error(err)
		}
	}
}

// alike returns mails whose ids begin with the same three digits.
func alike(n int) []string {
	by := map[string][]string{}
	for uid := 1000; ; uid++ {
		name := shardOf(task.MailID(true, "me@example.com", fmt.Sprintf("<%d@t>", uid))).Name
		if by[name] = append(by[name], mail(uid, terms.Allow)); len(by[name]) == n {
			return by[name]
		}
	}
}

// TestCrashFindsNaiveWriters is the control: a queue whose syncs do nothing must
// be caught.
func TestCrashFindsNaiveWriters(t *testing.T) {
	for name, lie := range map[string]func(*disktest.FS){
		"files not synced":       func(d *disktest.FS) { d.LieFile = true },
		"directories not synced": func(d *disktest.FS) { d.LieDir = true },
		"syncfs does nothing":    func(d *disktest.FS) { d.LieAll = true },
	} {
		w := newWorld(t, false, false)
		lie(w.disk())
		if _, err := queuetest.Everywhere(w.World, history, sample(false)); err == nil {
			t.Errorf("%s: nothing was found", name)
		}
	}
}

// TestCrashRandomly lets random lives go on after every interruption.
func TestCrashRandomly(t *testing.T) {
	t.Parallel()
	lives := 1_000
	if testing.Short() {
		lives = 100
	} else if thin {
		lives = 400
	}
	for seed := range uint64(lives) {
		r := rand.New(rand.NewPCG(seed, 0))
		if err := queuetest.Randomly(newWorld(t, r.IntN(2) == 0, r.IntN(2) == 0).repaired(r.IntN(2) == 0), r); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestSameAsInMemory: a spool says of a life what a store in memory says of it, with
// approvers and without.
func TestSameAsInMemory(t *testing.T) {
	for _, shared := range []bool{false, true} {
		d := disktest.New()
		d.Group = shared
		if err := queuetest.Same(spoolOn(d), history); err != nil {
			t.Errorf("shared %v: %v", shared, err)
		}
	}
	if err := queuetest.Same(made(t), history); err != nil {
		t.Error(err)
	}
}

// TestStorm lets writers work on one queue at the same time.
func TestStorm(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "q")
	if err := Create(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	open := func() (store.Store, error) {
		s, err := Open(dir)
		if err == nil {
			t.Cleanup(s.Close)
		}
		return s, err
	}
	if err := queuetest.Storm(open, 6, 10); err != nil {
		t.Error(err)
	}
}

// TestFair: senders take turns as in memory.
func TestFair(t *testing.T) {
	if err := queuetest.Burst(made(t), epoch); err != nil {
		t.Error(err)
	}
	for seed := range uint64(3) {
		if err := queuetest.Turns(made(t), seed, epoch); err != nil {
			t.Error(err)
		}
	}
}
