// Package door opens the queue that a command line names, together with what this
// account noted of it outside (package seen).
//
// Invariant: where this account has seen a queue and none is there, the error says so, and
// nothing makes another one in its place. Caveat: a confined command cannot open a queue,
// so Queue comes before cmdline.Confine.
package door

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/access"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/seen"
	"pulse/lib/queue/spool"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/safefile"
)

// Store is an open queue, as commands use it.
type Store interface {
	queue.Store
	History(fn func(audit.Line) (more bool)) error // newest first, for what may read for long
	Verify(head string) (*queue.Report, error)
	VerifyChain() (*queue.Report, error)

	TakesUnsafe() bool             // it was made with init --unsafe
	OnCommit(fn func(*audit.Line)) // fn is told what this command changed, once it is durable
	Interrupt(done <-chan struct{})
	Close()

	Runs() runner.Runs         // which tasks are being run
	Dir() *access.Dir          // who may use it, and where it lies
	Made() (time.Time, error)  // when it was made
	Writable() error           // nil, except for a snapshot
	Snapshot(dir string) error // makes one
	Forgetful() error          // why a queue that was restored from a copy would not be noticed, or nil
}

// Queue opens the queue that --queue or PULSE_QUEUE names, which must exist. A signal ends
// a wait for the queue's lock. Call it before Confine.
func Queue(c *cli.Context) (Store, error) {
	dir, err := cmdline.QueueDir(c)
	if err != nil {
		return nil, err
	}
	if err := There(dir); err != nil {
		return nil, err
	}
	s, err := spool.Open(dir)
	if err != nil {
		return nil, err
	}
	if c.Context != nil {
		s.Interrupt(c.Context.Done())
	}
	s.Remember(stateDir())
	return flat{s, dir}, nil
}

// There fails if a path holds no queue. Where this account has seen a queue, the hint is not
// to make another one, which would do everything of the last days again.
func There(dir string) error {
	err := access.There(dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) && seen.Known(stateDir(), dir) {
		hint := "findmnt --target " + escape.Shell(nearest(dir)) +
			" (is its volume mounted?); only if it is lost for good: pulse-queue init --queue " + escape.Shell(dir)
		return fault.Usagef(hint, "%w, and there was one", err)
	}
	return err
}

// nearest returns the longest part of a path that exists.
func nearest(path string) string {
	for ; filepath.Dir(path) != path; path = filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil {
			break
		}
	}
	return path
}

// rootState is stateDir for root.
const rootState = "/var/lib/pulse-seen"

// stateDir returns the directory where this account notes what it saw committed to queues:
// in $XDG_STATE_HOME or its default. Root ignores an environment that may be another
// user's. Without a home the path is empty.
func stateDir() string {
	dir := os.Getenv("XDG_STATE_HOME")
	switch home := os.Getenv("HOME"); {
	case os.Geteuid() == 0 && !rootsOwn(dir):
		return rootState
	case filepath.IsAbs(dir):
	case filepath.IsAbs(home):
		dir = filepath.Join(home, ".local/state")
	default:
		return ""
	}
	return filepath.Join(dir, "pulse")
}

// Forget drops what this account noted of an earlier queue at a path where it has just made
// one, and reports whether it had noted anything. Other accounts keep what they noted.
func Forget(queue string) (had bool, err error) { return seen.Forget(stateDir(), queue) }

// Restored returns the hint about a queue that lacks what was seen committed.
func Restored(c *cli.Context) string {
	return "man 5 pulse-queue, BACKUP AND RESTORE; then, as " + cmdline.User() +
		": pulse-queue release --restored --queue " + escape.Shell(c.String("queue"))
}

// rootsOwn reports whether an absolute path is root's, or will be once it is made.
func rootsOwn(dir string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	_, err := os.Lstat(dir)
	for ; errors.Is(err, fs.ErrNotExist); _, err = os.Lstat(dir) {
		dir = filepath.Dir(dir)
	}
	return err == nil && safefile.Directory(dir) == nil
}
