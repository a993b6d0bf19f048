package cmdline

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pulse/lib/fault"
	"pulse/lib/policy"
	"pulse/lib/runner"
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

// Queue opens the queue that --queue or PULSE_QUEUE names, which must be there.
func Queue(c *cli.Context) (*spool.Spool, error) {
	dir, err := QueueDir(c)
	if err != nil {
		return nil, err
	}
	return spool.Open(dir)
}

// QueueOrNew opens the queue that --queue or PULSE_QUEUE names, and makes it first
// where nothing is there; its parent must exist.
func QueueOrNew(c *cli.Context) (*spool.Spool, error) {
	dir, err := QueueDir(c)
	if err != nil {
		return nil, err
	}
	return spool.OpenOrCreate(dir)
}

// PolicyOrDefault loads the policy where one is named, and it must be valid then;
// else it returns what applies without one.
func PolicyOrDefault(c *cli.Context) (*policy.Policy, error) {
	if c.String("policy") == "" {
		return policy.Default(), nil
	}
	return Policy(c)
}

// RefuseInside fails inside a run of the queue: a worker must not act as the
// person it works for. A worker that clears its environment is still known by its
// ancestors, for the runner is its subreaper.
func RefuseInside(dir string) error {
	locks := runner.Dir(filepath.Join(dir, spool.Workers))
	if os.Getenv("PULSE_TASK") == "" && !runner.Inside(locks.Runners()) {
		return nil
	}
	return fault.Refusedf("", "refused inside a run: a worker proposes, and a person decides")
}

// User returns who runs the command, for the audit log: the real uid and its name.
func User() string {
	uid := os.Getuid()
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		return fmt.Sprintf("%s (uid %d)", u.Username, uid)
	}
	return fmt.Sprintf("uid %d", uid)
}
