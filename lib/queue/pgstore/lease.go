package pgstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/queue/runner"
)

// A run is this login's for a lease of 120 s from the last beat on, by the server's clock. The worker
// is told to end well before, by a clock that goes on while the machine sleeps: silence, then
// runner.Grace until SIGKILL. That leaves 30 s for a kill, and for clocks of servers that
// differ at a failover.
const (
	silence   = 80 * time.Second
	beatEvery = 10 * time.Second
)

// beatLimit is how long each host of the name may take for a beat; replaced in tests.
var beatLimit = 5 * time.Second

// runs are the runs of a queue that several machines use. The kernel's locks, in a directory
// of this machine, say what runs here; the server says what runs elsewhere. What the server has
// of a run names that directory, because a run has no locks in another one, and looks dead there.
type runs struct{ s *Store }

// Runs returns what is being run.
func (s *Store) Runs() runner.Runs { return &runs{s} }

// Key returns what stands for a text in file names.
func Key(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// dir returns the directory of the locks of what runs on this machine, under this account. It is
// that of the log's first line: a server has many names.
func (r *runs) dir() (runner.Dir, error) {
	first, err := lines{r.s}.FirstHash()
	if err == nil && first == "" {
		err = errors.New("pgstore: a run of a queue without a line")
	}
	return runner.Dir(filepath.Join(r.s.state, "runs", Key(first))), err
}

// here returns what stands for this machine in a run: a name for people, and the id of the
// directory of its locks, which no other machine, container or account has.
func here(d runner.Dir) (string, error) {
	id, err := d.ID()
	return hostname() + "/" + id, err
}

// Take takes the locks of this machine. The lease begins with the line of the start.
func (r *runs) Take(id string) (runner.Hold, error) {
	d, err := r.dir()
	if err == nil {
		err = os.MkdirAll(string(d), 0o700)
	}
	if err == nil {
		err = d.Name()
	}
	if err == nil {
		r.s.host, err = here(d)
	}
	if err != nil {
		return nil, err
	}
	l, err := d.Take(id)
	if err != nil {
		return nil, err
	}
	h := &hold{Locks: l, id: id, s: r.s, gone: make(chan struct{}), stop: make(chan struct{})}
	h.sent.Store(int64(now()))
	if h.beats, err = unconnected(r.s.name); err != nil {
		l.Drop()
		return nil, err
	}
	h.beats.cfg.ConnectTimeout = beatLimit
	r.s.taken[id] = h
	return h, nil
}

// Dead reports whether nobody runs a task: neither a process here, nor another machine, which
// has until its lease is over.
func (r *runs) Dead(id string) bool {
	d, err := r.dir()
	return err == nil && d.Dead(id) && r.over(d, id)
}

func (r *runs) Seen() func(id string) bool {
	d, err := r.dir()
	if err != nil {
		return func(string) bool { return false }
	}
	dead := d.Seen()
	return func(id string) bool { return dead(id) && r.over(d, id) }
}

// Started returns when each run on this machine began.
func (r *runs) Started() map[string]time.Time {
	d, err := r.dir()
	if err != nil {
		return nil
	}
	return d.Started()
}

// Runner returns the process id of the runner here that took the task last.
func (r *runs) Runner(id string) (int, error) {
	d, err := r.dir()
	if err != nil {
		return 0, err
	}
	return d.Runner(id)
}

// WorkerFile returns the file that the worker of a task here has open.
func (r *runs) WorkerFile(id string) string {
	d, _ := r.dir() // without one there is no such file
	return d.WorkerFile(id)
}

// Visible reports that the server says what is being run.
func (r *runs) Visible() bool { return true }

// Elsewhere names the login and the machine that run a task, and says when they were last heard of.
func (r *runs) Elsewhere(id string) string {
	all, err := r.s.query(say("SELECT who::text, host, extract(epoch FROM clock_timestamp() - until + '120 s'::interval)::int FROM pulse.run WHERE task = $1", id))
	if err != nil || len(all[0]) == 0 {
		return ""
	}
	host := string(all[0][0][1])
	if d, err := r.dir(); err == nil && string(all[0][0][0]) == r.s.cfg.User {
		if own, err := here(d); err == nil && host == own {
			return ""
		}
	}
	host, _, _ = strings.Cut(host, "/")
	heard := time.Duration(num(all[0][0][2])) * time.Second
	return fmt.Sprintf("%s on %s runs it, last heard of %s ago", all[0][0][0], host, heard)
}

// over reports whether the server has no run of a task that could still be alive elsewhere. The
// server asks that, too, when the run is taken back.
func (r *runs) over(d runner.Dir, id string) bool {
	own, err := here(d)
	if err == nil {
		r.s.host = own
	} else { // nothing was ever run here
		own = ""
	}
	const ask = "SELECT until < clock_timestamp() OR who = session_user AND host = $2 FROM pulse.run WHERE task = $1"
	all, err := r.s.query(say(ask, id, own))
	return err == nil && (len(all[0]) == 0 || yes(all[0][0][0]))
}

// WaitGone waits until nobody runs a task that was taken back.
func (r *runs) WaitGone(id string, limit time.Duration) bool {
	end := time.Now().Add(limit)
	if d, err := r.dir(); err != nil || !d.WaitGone(id, limit) {
		return false
	}
	for look := time.NewTicker(200 * time.Millisecond); time.Now().Before(end); <-look.C {
		all, err := r.s.query(say("SELECT FROM pulse.run WHERE task = $1 AND until > clock_timestamp()", id))
		if err == nil && len(all[0]) == 0 {
			return true
		}
	}
	return false
}

// hold is a run of this process.
type hold struct {
	*runner.Locks
	s     *Store
	beats *Store // its connection is of its own, because nothing waits for the other one
	id    string
	fence int64
	sent  atomic.Int64 // when the last good beat was sent, by a clock that does not stop

	gone, stop chan struct{}
	lapsed     atomic.Bool
	ended      sync.WaitGroup
}

// begin keeps the run from now on.
func (h *hold) begin(fence int64) {
	h.fence = fence
	h.ended.Add(1)
	go func() {
		defer h.ended.Done()
		h.keep()
	}()
}

// Env names the fence, so that what the worker talks to can refuse an older run.
func (h *hold) Env() []string { return []string{"PULSE_FENCE=" + strconv.FormatInt(h.fence, 10)} }

// Gone closes when the task was taken back, or the lease is about to end.
func (h *hold) Gone() <-chan struct{} { return h.gone }

// Drop ends the beats, and gives the locks back.
func (h *hold) Drop() {
	close(h.stop)
	h.ended.Wait()
	delete(h.s.taken, h.id)
	h.Locks.Drop()
}

// now is CLOCK_BOOTTIME; replaced in tests.
var now = func() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(err) // every Linux since 2.6.39 has it
	}
	return time.Duration(ts.Nano())
}

// tick is how often the clock is looked at; replaced in tests.
var tick = time.Second

// keep beats until Drop, or until the run is not this process's any more.
func (h *hold) keep() {
	defer h.beats.drop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h.ended.Add(1)
	go func() {
		defer h.ended.Done()
		defer cancel()
		h.watch(ctx)
	}()
	clock := time.NewTicker(tick)
	defer clock.Stop()
	for at := h.last(); !h.silent(); {
		select {
		case <-h.stop:
			return
		case <-clock.C:
		}
		if now()-at < beatEvery {
			continue
		}
		at = now()
		mine, err := h.beats.beat(ctx, h.id, h.fence)
		if err == nil && !mine {
			close(h.gone)
			return
		}
		if err == nil {
			h.sent.Store(int64(at))
		}
	}
	h.lapsed.Store(true)
	close(h.gone)
}

// watch returns when a beat that hangs must not go on: it would keep Drop waiting, or outlast
// the lease. A deadline would not do, because its clock stands still while the machine sleeps.
func (h *hold) watch(ctx context.Context) {
	clock := time.NewTicker(tick)
	defer clock.Stop()
	for !h.silent() {
		select {
		case <-h.stop:
			return
		case <-ctx.Done():
			return
		case <-clock.C:
		}
	}
}

// last returns when the last good beat was sent.
func (h *hold) last() time.Duration { return time.Duration(h.sent.Load()) }

// silent reports whether no server has answered for too long.
func (h *hold) silent() bool { return now()-h.last() >= silence }

// Lapsed reports whether no server has answered for so long that the lease is about to end.
func (h *hold) Lapsed() bool { return h.lapsed.Load() }

// errSilent means that no server answered a beat in time.
var errSilent = errors.New("no server answers")

// beat tells the server that a run goes on, and reports whether it is still this login's.
func (s *Store) beat(ctx context.Context, id string, fence int64) (bool, error) {
	hosts := time.Duration(1 + len(s.cfg.Fallbacks))
	ctx, cancel := context.WithTimeout(ctx, (hosts+1)*beatLimit)
	defer cancel()
	if s.conn == nil || s.conn.IsClosed() {
		s.drop()
		if err := s.connect(ctx); err != nil {
			return false, err
		}
	}
	all, err := s.ask(ctx, say("SET synchronous_commit = on"), say("SELECT pulse.beat($1, $2)", fence, id))
	if err != nil || len(s.notices) > 0 || len(all[1]) != 1 {
		s.drop()
		s.notices = nil
		return false, errors.Join(errSilent, err)
	}
	return yes(all[1][0][0]), nil
}
