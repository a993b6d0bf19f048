package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/queue/journal"
	"pulse/lib/queue/seen"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// What a View and an Update begin with. Settings are of the transaction, so that a server
// between may give its connections to several clients.
var (
	beginView = []stmt{
		say("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
		say("SET LOCAL search_path = pg_catalog"),
		say("SET LOCAL jit = off"),             // each statement here is short
		say("SET LOCAL statement_timeout = 0"), // but verify reads for long
		say("SELECT format, seq, head, day, refused, limited, kept, kept_bytes, counts::text, " + serverNow + " FROM pulse.queue"),
	}
	beginUpdate = []stmt{
		say("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
		say("SET LOCAL search_path = pg_catalog"),
		say("SELECT x, set_config('lock_timeout', CASE WHEN x THEN '3s' ELSE '60s' END, true) FROM (SELECT " + noStandby + " OFFSET 0) AS alone(x)"),
		say("SET LOCAL statement_timeout = 0"), // a COMMIT that is cancelled succeeds
		say("SET LOCAL synchronous_commit = on"),
		say("SET LOCAL idle_in_transaction_session_timeout = '20s'"), // a client that vanished keeps the lock until then
		say("SELECT * FROM pulse.lock()"),
	}
)

// serverNow asks for the server's clock, in microseconds.
const serverNow = "(extract(epoch FROM pulse.now(NULL, NULL)) * 1000000)::bigint"

// View runs fn on a snapshot of the queue. If the connection breaks meanwhile, fn runs once
// more on another one.
func (s *Store) View(fn func(store.View) error) error {
	if s.in != nil {
		return fn(s.in)
	}
	for again := false; ; again = true {
		v, err := s.begin(beginView, nil, nil)
		if err != nil {
			return err
		}
		err = fn(v)
		lost := s.conn.IsClosed()
		s.end()
		if !lost || again {
			return err
		}
	}
}

// Update runs fn while the queue is locked, and then carries out the commit that fn returns:
// all of it, durably, or nothing if fn or the commit fails.
func (s *Store) Update(fn func(store.View) (*store.Commit, error)) error {
	if s.in != nil {
		return errNested
	}
	if err := s.Writable(); err != nil {
		return err
	}
	keys, ahead := s.foresee()
	v, err := s.begin(beginUpdate, keys, ahead)
	if err != nil {
		return err
	}
	defer s.end()
	c, err := fn(v)
	if err != nil {
		return err
	}
	return s.commit(v, c)
}

// grace is how long a step may take that goes on although the command was told to end.
const grace = 2 * time.Second

// patient returns the context of a step that waits for others: it ends after d, and a grace
// after the command was told to end.
func (s *Store) patient(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	if s.done != nil {
		go func(done <-chan struct{}) {
			select {
			case <-done:
				select {
				case <-time.After(grace):
					cancel()
				case <-ctx.Done():
				}
			case <-ctx.Done():
			}
		}(s.done)
	}
	return ctx, cancel
}

// foresee returns what the next Update will probably ask for: what the end of a run needs, by
// the keys, or, if there is none, what a start does.
func (s *Store) foresee() (keys []string, ahead []stmt) {
	for id := range s.runs {
		if len(keys) < 10 {
			keys = append(keys, id)
		}
	}
	if len(keys) == 0 && s.claims {
		ahead = append(ahead, s.starts.further(), say(sqlRecent, int64(math.MaxInt64), int64(recent)))
	}
	return keys, ahead
}

// begin begins a transaction, and asks ahead in the same round trip, because others wait for
// the lock meanwhile. A connection that broke since it was used last is replaced.
func (s *Store) begin(first []stmt, keys []string, ahead []stmt) (*view, error) {
	update := len(first) == len(beginUpdate)
	keys = append(keys, "")
	first = append(first[:len(first):len(first)], kept(keys))
	ctx, cancel := s.patient(patience)
	defer cancel()
	noted, began := s.memory.Noted(), time.Now()
	for again := false; ; again = true {
		fresh := s.conn == nil || s.conn.IsClosed()
		if fresh {
			s.drop()
			if err := s.connect(ctx); err != nil {
				return nil, s.ended(ctx, err)
			}
		}
		all, err := s.ask(ctx, slices.Concat(first, ahead)...)
		if update && alone(all) {
			s.end()
			if time.Since(began) < standbyLimit && sleep(ctx, standbyLimit/20) {
				again = false
				continue
			}
			return nil, s.ended(ctx, s.noStandby(errUndone))
		}
		if err == nil {
			n := len(first)
			return s.picture(all[n-2][0], keys, all[n-1], ahead, all[n:], noted)
		}
		lost := s.conn.IsClosed()
		s.end()
		if ctx.Err() == context.DeadlineExceeded && update { // lock_timeout is for each of several locks
			return nil, locked(patience)
		}
		if !lost || fresh || again || ctx.Err() != nil {
			return nil, s.ended(ctx, s.fail(err))
		}
	}
}

// ended returns context.Canceled in place of an error that comes from being told to end.
func (s *Store) ended(ctx context.Context, err error) error {
	if ctx.Err() == context.Canceled {
		return context.Canceled
	}
	return err
}

// picture makes a view of the queue's row, of what is kept under some keys, and of what else was asked ahead.
func (s *Store) picture(q row, keys []string, things []row, ahead []stmt, answers [][]row, noted seen.Noted) (*view, error) {
	v := &view{Store: s, seq: num(q[1]), head: string(q[2]), noted: noted, known: map[string]*about{}, foreseen: map[string][]row{}}
	v.know(keys, things)
	v.last = audit.TimeOf(v.known[""].line)
	if q[9] != nil {
		v.now = time.UnixMicro(num(q[9])).UTC()
	}
	for i, q := range ahead {
		v.foreseen[q.key()] = answers[i]
	}
	s.in = v
	if num(q[0]) != format {
		s.end()
		s.drop() // the next connection says what to do
		return nil, fault.Temporaryf("", "%s: the queue was given another format", s.name)
	}
	v.counts = store.Counts{
		Day: string(q[3]), Refused: int(num(q[4])), Limited: yes(q[5]),
		Kept: int(num(q[6])), KeptBytes: num(q[7]), Head: v.head,
	}
	var err error
	if v.counts.Tasks, err = countsOf(q[8]); err != nil {
		s.end()
	}
	return v, err
}

// snapshot runs fn once on a snapshot of the queue.
func (s *Store) snapshot(fn func(context.Context) error) error {
	if _, err := s.begin(beginView, nil, nil); err != nil {
		return err
	}
	defer s.end()
	ctx, cancel := s.untilInterrupted()
	defer cancel()
	return fn(ctx)
}

// end ends a transaction that was not committed.
func (s *Store) end() {
	s.in = nil
	if s.conn == nil || s.conn.IsClosed() || s.conn.TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := s.ask(ctx, say("ROLLBACK")); err != nil {
		s.drop()
	}
}

// commit carries a commit out. What follows COMMIT has no deadline: to give it up could make
// it succeed without the standby, and nobody would know.
func (s *Store) commit(v *view, c *store.Commit) error {
	call, mark := s.call(v, c)
	s.notices = nil
	ctx, cancel := s.untilInterrupted()
	unwatched := s.watchStandby(cancel)
	all, err := s.ask(ctx, call, say("COMMIT"))
	unwatched()
	cancel()
	var pg *pgconn.PgError
	var lines []row
	switch {
	case err == nil && len(s.notices) == 0 && s.conn.TxStatus() == 'I':
		lines = all[0]
	case errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR" && !s.conn.IsClosed():
		return s.fail(err)
	default:
		if lines, err = s.decide(v.seq, len(c.Lines), mark, err); err != nil {
			return err
		}
	}
	return s.carried(v, c, lines)
}

// call returns the call that carries a commit out, and the mark by which it is known again. What
// changes nothing writes all the same: its acknowledgement covers what was read, which may not
// be at the standby yet.
func (s *Store) call(v *view, c *store.Commit) (q stmt, mark int64) {
	if len(c.Lines) == 0 && c.Unlisted == 0 {
		return say("SELECT pulse.touch()"), 0
	}
	lines, fences := make([]string, len(c.Lines)), make([]int64, len(c.Lines))
	for i := range c.Lines {
		l := &c.Lines[i]
		lines[i] = string(l.Append(nil))
		if l.From == task.Running {
			fences[i] = s.runs[l.Task]
		}
	}
	shelves, keys, blobs := make([]string, len(c.Blobs)), make([]string, len(c.Blobs)), make([][]byte, len(c.Blobs))
	for i := range c.Blobs {
		b := &c.Blobs[i]
		shelves[i], keys[i], blobs[i] = string(b.Shelf), b.Key, b.Bytes
	}
	mark = rand.Int64()
	return say("SELECT unnest(pulse.commit($1, $2, $3, $4::int, $5, $6, $7, $8, $9))",
		v.seq, lines, fences, int64(c.Unlisted), shelves, keys, blobs, s.host, mark), mark
}

// carried notes what was committed, as the server wrote it, and tells it.
func (s *Store) carried(v *view, c *store.Commit, written []row) error {
	head := v.head
	for i := range c.Lines {
		if i >= len(written) {
			return fmt.Errorf("%s: %d of %d lines are there", s.name, i, len(c.Lines))
		}
		l, err := audit.Parse(written[i][0])
		if err != nil {
			return fmt.Errorf("line %d: %w: %w", v.seq+int64(i)+1, journal.ErrBroken, err)
		}
		c.Lines[i], head = l, audit.Hash(written[i][0])
		switch {
		case l.Event == task.Started:
			s.hold(l.Task, v.seq+int64(i)+1)
		case l.From == task.Running && l.Moves():
			s.hold(l.Task, 0)
		}
	}
	s.memory.Note(c.Lines, seen.Mark{Segment: seen.Table, Size: v.seq + int64(len(c.Lines)), Head: head})
	for i := range c.Lines {
		if s.committed != nil {
			s.committed(&c.Lines[i])
		}
	}
	return nil
}
