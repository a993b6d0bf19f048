// Package door opens the queue that a command line names, together with what this
// account noted of it outside (package seen).
//
// Invariant: where this account has seen a queue and none is there, the error says so, and
// nothing makes another one in its place. Caveat: a confined command cannot open a queue,
// so Queue comes before cmdline.Confine.
package door

import (
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/access"
	"pulse/lib/queue/health"
	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/seen"
	"pulse/lib/queue/spool"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/redial"
	"pulse/lib/shared/sandbox"
	"pulse/lib/shared/task"
)

// Store is an open queue, as commands use it.
type Store interface {
	store.Store
	// History is that of health.Queue, for what may read for long.
	History(fn func(audit.Line) (more bool), events ...task.Event) error
	Verify(head string) (*store.Report, error)
	VerifyChain() (*store.Report, error)

	TakesUnsafe() bool             // it was made with init --unsafe
	OnCommit(fn func(*audit.Line)) // fn is told what this command changed, once it is durable
	Interrupt(done <-chan struct{})
	Close()

	Keeper() Keeper           // what holds it
	Runs() runner.Runs        // which tasks are being run
	Made() (time.Time, error) // when it was made
	Writable() error          // nil, except for a snapshot
	// Snapshot makes one. A group reads one of a server's queue; a directory knows its groups.
	Snapshot(dir string, g access.Group) error
	Forgetful() error          // why a queue that was restored from a copy would not be noticed, or nil
	LogSize() int64            // in bytes
	Room(reserve int64) error  // nil if more can be accepted, and so many bytes stay free
	Spare(reserve int64) int64 // how many bytes can be written so that twice the reserve stays free
}

// Keeper is what holds a queue, and knows the accounts that may say yes: a directory, through the
// kernel, or a server, through its logins. The other one is nil.
type Keeper struct {
	Dir    *access.Dir
	Server Server
}

// Server is the server of a queue. It knows each answer's login.
type Server interface {
	Level() approval.Level                // what it proves of this login
	Vouch(holder approval.Holder) error   // nil if this one may say yes, and do nothing else
	Answers(holder approval.Holder) error // nil if it starts what reaches the outside on the yes of this one
	Holder(login string) approval.Holder  // what it calls the answers of a login
	Me() approval.Holder                  // and those of this one

	Conditions(now time.Time) ([]health.Finding, error) // what about the server needs attention
	Reachable(uid, gid int) bool                        // an account of this machine could connect to it
}

// Queue opens the queue that --queue or PULSE_QUEUE names, which must exist. A signal ends
// a wait for the queue's lock. Call it before Confine.
func Queue(c *cli.Context) (Store, error) {
	dir, err := cmdline.QueueName(c)
	if err != nil {
		return nil, err
	}
	if cmdline.Served(dir) {
		return openServed(c, dir)
	}
	if err := spool.There(dir); err != nil {
		return nil, err
	}
	s, err := spool.Open(dir)
	if err != nil {
		return nil, err
	}
	if c.Context != nil {
		s.Interrupt(c.Context.Done())
	}
	s.Remember(seen.Dir())
	return flat{s, dir}, nil
}

// Enter opens the queue, and confines the command to it.
func Enter(c *cli.Context) (Store, error) {
	s, err := Queue(c)
	if err != nil {
		return nil, err
	}
	if _, err := Confine(c, s); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Confine is cmdline.Confine for a command that works on an open queue and looks at some files
// besides.
func Confine(c *cli.Context, s Store, files ...string) (sandbox.Level, error) {
	return ConfineTo(c, s, cmdline.QueueProfile(c, files...))
}

// ConfineTo is Confine for a profile. If the connection to a server breaks, the command can
// still ask what became of its commit, because a second process connects for it from now on.
func ConfineTo(c *cli.Context, s Store, p sandbox.Profile) (sandbox.Level, error) {
	if s, ok := s.(served); ok && cmdline.Confines(c) {
		s.DialOutside()
	}
	cmdline.User() // for the audit log, because a confined command can't look it up
	return cmdline.Confine(c, p)
}

// Main runs a command that opens queues as cmdline.Main does, or is the second process of
// ConfineTo.
func Main(app func() *cli.App) int {
	return redial.Main(func() int { return cmdline.Main(app()) }, pgstore.Dial)
}

// Forget drops what this account noted of an earlier queue at a path where it has just made
// one, and reports whether it had noted anything. Other accounts keep what they noted.
func Forget(queue string) (had bool, err error) { return seen.Forget(seen.Dir(), queue) }

// Restored returns the hint about a queue that lacks what was seen committed.
func Restored(c *cli.Context) string {
	return "man 5 pulse-queue, BACKUP AND RESTORE; then, as " + cmdline.User() +
		": pulse-queue release --restored --queue " + escape.Shell(c.String("queue"))
}
