package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// bound is how long anything may take, beside all that works here.
const bound = 10 * time.Minute

// start is a start that was acknowledged: here a command would have been executed.
type start struct {
	id    string
	fence int64
	by    *member
}

// fleet is what several machines do with one queue at the same time: add asks and effects, say
// yes to these, start both and finish them. It notes everything that was acknowledged.
type fleet struct {
	t        *testing.T
	policy   *policy.Policy
	uid      atomic.Int64
	over     atomic.Bool   // nothing more is begun
	told     chan struct{} // what waits is told to end
	state    string        // where each machine has a directory for the locks of what it runs
	remember string        // where each member has a directory for what it saw; empty: they remember nothing
	group    sync.WaitGroup
	members  []*member

	mu                     sync.Mutex
	lines                  map[string]*member // that were acknowledged
	receipts               map[string]bool    // ids of tasks
	starts                 []start
	had, undone, undecided int // commits in doubt
	conflicts              int
	last                   time.Time
	gap                    time.Duration // the longest time in which nothing was acknowledged
}

// member is one command after the other, by one login.
type member struct {
	*pgstore.Store
	f     *fleet
	name  string
	acked atomic.Int64 // lines
}

func fleetOf(t *testing.T) *fleet {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p := *queuetest.Policy
	p.Limits.MaxPerDay, p.Limits.PerSenderPerHour, p.Limits.MaxRestarts, p.Outbound.MinReplyInterval = 1<<20, 1<<20, 1<<20, 0
	f := &fleet{
		t: t, state: t.TempDir(), policy: &p, told: make(chan struct{}), lines: map[string]*member{}, receipts: map[string]bool{}, last: time.Now(),
	}
	t.Cleanup(func() {
		f.tell()
		for _, m := range f.members {
			m.Close()
		}
	})
	return f
}

// member opens the queue for one that begins later, or at once if it has something to do.
func (f *fleet) member(name string, do func(*member)) *member {
	f.t.Helper()
	s, err := pgstore.Open(context.Background(), name)
	if err != nil {
		f.t.Fatal(err)
	}
	m := &member{Store: s, f: f, name: name}
	s.Interrupt(f.told)
	s.Elsewhere(f.state)
	if f.remember != "" {
		dir, err := os.MkdirTemp(f.remember, "")
		if err != nil {
			f.t.Fatal(err)
		}
		s.Remember(dir)
	}
	s.OnCommit(m.heard)
	f.members = append(f.members, m)
	if do != nil {
		f.group.Go(func() { do(m) })
	}
	return m
}

func (m *member) heard(l *audit.Line) {
	f := m.f
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines[string(l.Append(nil))] = m
	m.acked.Add(1)
	now := time.Now()
	f.gap, f.last = max(f.gap, now.Sub(f.last)), now
}

// Update notes which commits were in doubt, and what became of them.
func (m *member) Update(fn func(store.View) (*store.Commit, error)) error {
	var conn any
	err := m.Store.Update(func(v store.View) (*store.Commit, error) {
		conn = m.Conn()
		return fn(v)
	})
	if errors.Is(err, store.ErrAway) {
		time.Sleep(10 * time.Millisecond) // or it would use up all processors
	}
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	switch {
	case err == nil && m.Conn() != conn:
		m.f.had++
	case errors.Is(err, pgstore.ErrUndo):
		m.f.undone++
	case errors.Is(err, pgstore.ErrDoubt):
		m.f.undecided++
	case errors.Is(err, store.ErrConflict):
		m.f.conflicts++
	case err != nil && !errors.Is(err, context.Canceled) && fault.KindOf(err) != fault.Temporary:
		m.f.t.Errorf("%s: %v", m.name, err)
	}
	return err
}

// end ends the fleet as soon as everybody has an answer.
func (f *fleet) end() {
	f.t.Helper()
	f.over.Store(true)
	select {
	case <-waited(&f.group):
	case <-time.After(bound):
		f.t.Fatal("a command does not end")
	}
}

// tell tells everything that waits to end, and waits until it has.
func (f *fleet) tell() {
	f.over.Store(true)
	if !closed(f.told)() {
		close(f.told)
	}
	f.group.Wait()
}

func waited(g *sync.WaitGroup) <-chan struct{} {
	c := make(chan struct{})
	go func() { g.Wait(); close(c) }()
	return c
}

// counts returns how many lines and how many starts were acknowledged.
func (f *fleet) counts() (lines, starts int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.lines), len(f.starts)
}

// more waits until so many more lines and starts were acknowledged.
func (f *fleet) more(lines, starts int) {
	f.t.Helper()
	l, s := f.counts()
	until(f.t, fmt.Sprintf("%d lines and %d starts more", lines, starts), func() bool {
		a, b := f.counts()
		return a >= l+lines && b >= s+starts
	})
}

// until waits until something is so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	end := time.After(bound)
	for look := time.NewTicker(5 * time.Millisecond); !is(); {
		select {
		case <-end:
			t.Fatalf("not after %v: %s", bound, what)
		case <-look.C:
		}
	}
}

var receiptID = regexp.MustCompile(`"task":\{"id":"([0-9a-f]{32})"`)

// adds adds tasks until the fleet ends: each one until it is acknowledged.
func (m *member) adds() {
	for !m.f.over.Load() {
		n := int(m.f.uid.Add(1))
		line := queuetest.Mail(n, terms.Allow)
		if n%4 == 0 {
			line = queuetest.Effect(n)
		}
		for m.put(line) != nil && !m.f.over.Load() {
		}
	}
}

func (m *member) put(line string) error {
	b := queue.NewBatch(m, false, 1<<20, time.Now)
	rec, err := record.Parse([]byte(line), queue.Members...)
	if err == nil {
		err = b.Put(rec)
	}
	if err != nil {
		m.f.t.Error(err)
		return err
	}
	return b.Commit(func(receipt []byte) error {
		m.f.mu.Lock()
		defer m.f.mu.Unlock()
		m.f.receipts[string(receiptID.FindSubmatch(receipt)[1])] = true
		return nil
	})
}

// approves says yes to what waits, until the fleet ends.
func (m *member) approves() {
	for !m.f.over.Load() {
		err := queue.Update(m, func(tx *queue.Tx) error {
			s, found, err := queuetest.First(tx, task.Awaiting)
			if !found || err != nil {
				return err
			}
			return queue.Approve(tx, &s, queue.Yes(&s, "ann", approval.Terminal, time.Now()), time.Now())
		})
		_ = err // Update has looked at it, and what waits is looked for again
	}
}

// runs starts and finishes tasks until the fleet ends, as pulse-queue run does.
func (m *member) runs() {
	for n := 0; !m.f.over.Load(); n++ {
		effect := terms.ExternalSend
		if n%3 > 0 {
			effect = ""
		}
		m.turn(m.f.policy, effect, nil)
	}
}

// turn is one run of pulse-queue, which starts one task at most. between is called while the
// task runs; it may be nil.
func (m *member) turn(p *policy.Policy, effect terms.Action, between func(*queue.Claim, runner.Hold)) (started bool) {
	runs := m.Runs()
	reap := func(tx *queue.Tx) error {
		_, err := queue.Reap(tx, &p.Limits, time.Now(), runs.Dead)
		return err
	}
	if queue.Update(m, reap) != nil {
		return false
	}
	claim, hold, err := m.claim(queue.Run{Policy: p, Effect: effect, Max: 1, Now: time.Now})
	if err != nil || claim == nil {
		return false
	}
	defer hold.Drop()
	if between != nil {
		between(claim, hold)
	}
	finish := func(tx *queue.Tx) error {
		_, err := queue.Finish(tx, claim, queue.End{Result: []byte(claim.Task.ID)}, &p.Limits, time.Now())
		return err
	}
	for err = store.ErrLocked; errors.Is(err, store.ErrLocked) || errors.Is(err, store.ErrAway); {
		err = queue.Update(m, finish)
	}
	if errors.Is(err, store.ErrConflict) {
		ended := func(tx *queue.Tx) error { return queue.FinishCancelled(tx, claim, queue.End{Exit: -1}, time.Now()) }
		_ = queue.Update(m, ended)
	}
	return true
}

// claim takes the next task, and notes that it was started.
func (m *member) claim(r queue.Run) (claim *queue.Claim, hold runner.Hold, err error) {
	err = queue.Update(m, func(tx *queue.Tx) (err error) {
		claim, _, err = r.Next(tx, func(id string) (err error) {
			if hold, err = m.Runs().Take(id); errors.Is(err, syscall.EWOULDBLOCK) {
				err = store.ErrConflict
			}
			return err
		})
		return err
	})
	if (err != nil || claim == nil) && hold != nil {
		hold.Drop()
	}
	if err != nil || claim == nil {
		return nil, nil, err
	}
	fence, err := strconv.ParseInt(strings.TrimPrefix(hold.Env()[0], "PULSE_FENCE="), 10, 64)
	if err != nil {
		m.f.t.Error(err)
	}
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	m.f.starts = append(m.f.starts, start{claim.Task.ID, fence, m})
	return claim, hold, nil
}

// check looks whether the queue has all that was acknowledged, and whether nothing was
// started twice: an ask only after a line that says why, an effect only on another yes.
func (f *fleet) check(name string) {
	f.t.Helper()
	log, lost := f.log(name)
	if len(lost) > 0 {
		f.t.Errorf("%d acknowledged lines are lost: %s", len(lost), lost[0])
	}
	begun, allowed, twice := map[string]int{}, log.allowed, 0
	fences := map[int64]bool{}
	for _, st := range f.starts {
		if begun[st.id]++; log.started[st.fence] != st.id || fences[st.fence] {
			f.t.Errorf("%+v is not in the log, or there twice", st)
		}
		fences[st.fence] = true
	}
	for id, n := range begun {
		if n > allowed[id] {
			twice++
			f.t.Errorf("%s was started %d times, and may be %d times", id, n, allowed[id])
		}
	}
	adds := 0
	for id := range f.receipts {
		if adds++; !log.added[id] {
			f.t.Errorf("%s was acknowledged, and is not there", id)
		}
	}
	r, err := open(f.t, name).Verify("")
	if err != nil || r.Broken || len(r.Findings) > 0 {
		f.t.Errorf("verify: %+v, %v", r, err)
	}
	f.t.Logf("%d adds acknowledged, %d lines, lost: %d; %d starts, twice: %d; in doubt: %d had happened, %d had not, %d not decided; %d conflicts; longest gap %v",
		adds, len(f.lines), len(lost), len(f.starts), twice, f.had, f.undone, f.undecided, f.conflicts, f.gap.Round(time.Millisecond))
}

// history is what the log says.
type history struct {
	added   map[string]bool
	started map[int64]string
	allowed map[string]int // how often a task may start
	seq     map[string]int64
}

// log reads the log, and returns which of the acknowledged lines it lacks.
func (f *fleet) log(name string) (l *history, lost []string) {
	l = &history{map[string]bool{}, map[int64]string{}, map[string]int{}, map[string]int64{}}
	for i, raw := range logged(f.t, open(f.t, name)) {
		line, err := audit.Parse([]byte(raw))
		if err != nil {
			f.t.Fatal(err)
		}
		l.seq[raw] = int64(i + 1)
		switch line.Event {
		case task.Added:
			l.added[line.Task] = true
			if line.Kind == task.Ask {
				l.allowed[line.Task]++
			}
		case task.Approved, task.Restarted:
			l.allowed[line.Task]++
		case task.Started:
			l.started[int64(i+1)] = line.Task
		}
	}
	for raw := range f.lines {
		if l.seq[raw] == 0 {
			lost = append(lost, raw)
		}
	}
	slices.Sort(lost)
	return l, lost
}
