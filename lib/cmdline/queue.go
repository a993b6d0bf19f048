package cmdline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/access"
	"pulse/lib/audit"
	"pulse/lib/escape"
	"pulse/lib/fault"
	"pulse/lib/policy"
	"pulse/lib/queue"
	"pulse/lib/seen"
	"pulse/lib/spool"
)

// QueueFlag returns the flag --queue.
func QueueFlag() cli.Flag {
	return &cli.StringFlag{
		Name:    "queue",
		EnvVars: []string{"PULSE_QUEUE"},
		Usage:   "`DIR` the queue, pulse-queue(5); default: $PULSE_QUEUE",
	}
}

// QueueDir returns the directory that --queue or PULSE_QUEUE names.
func QueueDir(c *cli.Context) (string, error) {
	dir := c.String("queue")
	if dir == "" {
		return "", fault.Usagef(c.App.Name+" … --queue ~/pulse",
			"no queue: neither --queue nor PULSE_QUEUE is set")
	}
	return dir, nil
}

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

	Dir() *access.Dir          // who may use it, and where it lies
	Made() (time.Time, error)  // when it was made
	Writable() error           // nil, except for a snapshot
	Snapshot(dir string) error // makes one
	Forgetful() error          // why a queue that was restored from a copy would not be noticed, or nil
}

// Queue opens the queue that --queue or PULSE_QUEUE names, which must exist. A signal ends
// a wait for the queue's lock. Call it before Confine.
func Queue(c *cli.Context) (Store, error) {
	dir, err := QueueDir(c)
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
	return s, nil
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

// PolicyOrDefault loads the policy if one is named, and returns the default otherwise.
func PolicyOrDefault(c *cli.Context) (*policy.Policy, error) {
	if c.String("policy") == "" {
		return policy.Default(), nil
	}
	return Policy(c)
}

// User names the account that runs the command, for the audit log: the real uid and its
// name. They are looked up once, because a confined command can't look them up.
var User = sync.OnceValue(func() string {
	uid := fmt.Sprint(os.Getuid())
	if u, err := user.LookupId(uid); err == nil {
		return account(u)
	}
	return "uid " + uid
})

// Account names, in the same form, the account of a worker that is started as a user; an
// empty name stands for the account that runs the command.
func Account(name string) string {
	if name == "" {
		return User()
	}
	u, err := user.Lookup(name)
	if err != nil {
		return name
	}
	return account(u)
}

func account(u *user.User) string { return fmt.Sprintf("%s (uid %s)", u.Username, u.Uid) }
