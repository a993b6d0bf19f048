// Package pgstore keeps a queue in a PostgreSQL database. It implements the store of package
// queue.
//
// Invariants. Acknowledged means durable, and all or nothing, as PostgreSQL's COMMIT means it:
// where that may be less (the connection broke, or there was a notice), the store asks again
// what became of it before Update returns. The log holds the same lines, byte for byte, as in
// flat files. A thing is kept as the number of the line that made it, so it can't differ from
// the log: what the line says of it is store.Changes. Nothing is changed but by the functions
// of schema.sql, which believe no client.
//
// How: Update locks the queue's only row, reads, and then commits its lines in one call; what it
// will probably read comes with the lock, for which others wait. View reads a snapshot, and locks
// nothing. Both read a task with what belongs to it in one round trip, and keep that until they
// end.
//
// Caveats: a server that acknowledges before a standby has what was committed may lose it in a
// failover. View.Lost tells who saw it.
package pgstore

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/queue/seen"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
)

// What init runs: the roles, once for a server, and the queue, in each database.
var (
	//go:embed roles.sql
	roles string
	//go:embed schema.sql
	tablesSQL string
	//go:embed functions.sql
	functionsSQL string
	//go:embed limits.sql
	Limits string // what one login could stop all others with; init leaves it to the DBA

	Schema = tablesSQL + functionsSQL
)

// format is the version of the schema.
const format = 2

// Store is an open queue. One process may use one Store from one goroutine.
type Store struct {
	name  string
	cfg   *pgconn.Config
	conn  *pgconn.PgConn
	dial  pgconn.DialFunc
	host  string // this machine, as its runs name it
	state string // the directory of this account in which the locks of runs lie

	first  string // the hash of the log's first line, if it was asked for
	unsafe bool
	made   time.Time
	reader bool // a login that sees no bytes of files and results
	alone  bool // a login that may say yes, and do nothing else

	in      *view            // the View or the Update that runs
	starts  starts           // read so far
	claims  bool             // an Update of this process has asked for starts, so the next may
	runs    map[string]int64 // the fences of the runs that this process holds, by task
	taken   map[string]*hold // what Take took and Drop did not give back
	notices []string         // what the server told since the last commit began
	dials   atomic.Bool      // it connects; otherwise dialling could only cancel a commit's wait for a standby

	memory    seen.Memory
	committed func(*audit.Line)
	done      <-chan struct{}
}

// The Store is a store of package queue.
var _ store.Store = (*Store)(nil)

// Interrupt ends a wait for the queue's lock, or for a commit, when done is closed. What
// takes no longer than grace goes on.
func (s *Store) Interrupt(done <-chan struct{}) { s.done = done }

// TakesUnsafe reports whether the queue was made with init --unsafe.
func (s *Store) TakesUnsafe() bool { return s.unsafe }

// Made returns when the queue was made.
func (s *Store) Made() (time.Time, error) { return s.made, nil }

// OnCommit makes the Store tell fn what it changed, line by line, once that is durable.
func (s *Store) OnCommit(fn func(*audit.Line)) { s.committed = fn }

// Writable returns nil, except for a login that only reads.
func (s *Store) Writable() error {
	if s.reader {
		return fault.Usagef("name a login of another role: --queue postgres://LOGIN@HOST/DATABASE",
			"%s: %s only reads", s.name, s.cfg.User)
	}
	return nil
}

// Close gives the connection back.
func (s *Store) Close() {
	s.memory.Close()
	if s.conn != nil && !s.conn.IsClosed() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		s.conn.Close(ctx)
	}
	s.drop()
}

// hold notes that this process holds a run of a task, by its fence. A fence of 0: it does
// not, or no longer.
func (s *Store) hold(id string, fence int64) {
	if fence == 0 {
		delete(s.runs, id)
	} else {
		s.runs[id] = fence
		if h := s.taken[id]; h != nil {
			h.begin(fence)
		}
	}
}

// hostname names this machine in what the server keeps of a run.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "?"
	}
	return name
}

// errNested is returned by an Update within a View or an Update.
var errNested = errors.New("pgstore: an Update within a View")
