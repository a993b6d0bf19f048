package cmdline

import (
	"fmt"
	"os"
	"os/user"
	"sync"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
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
