package cmdline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"sync"

	"github.com/urfave/cli/v2"

	"pulse/lib/escape"
	"pulse/lib/fault"
	"pulse/lib/policy"
	"pulse/lib/seen"
	"pulse/lib/spool"
)

// QueueFlag is --queue.
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
		return "", fault.Usagef(c.App.Name+" … --queue ~/pulse", "no queue: neither --queue nor PULSE_QUEUE is set")
	}
	return dir, nil
}

// Queue opens the queue that --queue or PULSE_QUEUE names, which must be there. A
// signal ends its waiting for the queue's lock. It is to be called before Confine.
func Queue(c *cli.Context) (*spool.Spool, error) {
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

// There fails if a path holds no queue. Where this account has seen one, another one is
// not what to make: it would have everything of the last days done again.
func There(dir string) error {
	err := spool.There(dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) && seen.Known(stateDir(), dir) {
		return fault.Usagef("findmnt --target "+escape.Shell(nearest(dir))+" (is its volume mounted?); only if it is lost for good: pulse-queue init --queue "+escape.Shell(dir),
			"%w, and there was one", err)
	}
	return err
}

// nearest returns the directory that is there on the way to a path, nearest to it.
func nearest(path string) string {
	for ; filepath.Dir(path) != path; path = filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil {
			break
		}
	}
	return path
}

// PolicyOrDefault loads the policy where one is named, and it must be valid then;
// else it returns what applies without one.
func PolicyOrDefault(c *cli.Context) (*policy.Policy, error) {
	if c.String("policy") == "" {
		return policy.Default(), nil
	}
	return Policy(c)
}

// User returns who runs the command, for the audit log: the real uid and its name. It
// is looked up once, for a confined command can't.
var User = sync.OnceValue(func() string {
	uid := fmt.Sprint(os.Getuid())
	if u, err := user.LookupId(uid); err == nil {
		return account(u)
	}
	return "uid " + uid
})

// Account returns in the same form whose a worker is that is started as the named
// user; empty: as whoever runs the command.
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
