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
		Action:  func(_ *cli.Context, name string) error { return withoutPassword(name) },
	}
}

// QueueName returns what --queue or PULSE_QUEUE names: a directory, or a queue on a server.
func QueueName(c *cli.Context) (string, error) {
	name := c.String("queue")
	if name == "" {
		return "", fault.Usagef(c.App.Name+" … --queue ~/.local/share/pulse/queue",
			"no queue: neither --queue nor PULSE_QUEUE is set")
	}
	return name, nil
}

// QueueDir returns the directory of the queue; empty if none is named, or one on a server.
func QueueDir(c *cli.Context) string {
	if name := c.String("queue"); !Served(name) {
		return name
	}
	return ""
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
