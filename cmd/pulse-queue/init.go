package main

import (
	"os"
	"os/user"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/access"
	"pulse/lib/queue/door"
	"pulse/lib/queue/spool"
	"pulse/lib/queue/store"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

func initQueue(c *cli.Context) error {
	dir, err := cmdline.QueueName(c)
	if err != nil {
		return err
	}
	if cmdline.Served(dir) {
		return door.CreateServed(c, dir)
	}
	if c.Bool("upgrade") {
		return fault.Usagef("pulse-queue init", "--upgrade: %s is no queue on a server, and needs none", dir)
	}
	opt := spool.Options{Unsafe: c.Bool("unsafe"), Network: c.Bool("allow-network")}
	if opt.Approvers, err = group(c, "approver-group"); err != nil {
		return err
	}
	if opt.Workers, err = group(c, "worker-group"); err != nil {
		return err
	}
	if opt.Approvers.Name != "" && opt.Workers.Name != "" && opt.Approvers.ID == opt.Workers.ID {
		return fault.Usagef("groupadd another",
			"--approver-group and --worker-group are both %s: workers could answer", opt.Approvers.Name)
	}
	fresh := access.There(dir) != nil && !spool.HasLog(dir)
	if err := spool.Create(dir, opt); err != nil {
		return err
	}
	if fresh {
		forget(c, dir)
	}
	s, err := door.Queue(c)
	if err != nil {
		return err
	}
	defer s.Close()
	if lost, err := store.Read(s, store.View.Lost); err != nil {
		return err
	} else if lost != "" {
		cmdline.Warn(c,
			"a queue with more in it was here before: nothing starts until pulse-queue release --restored")
	}
	if c.Bool("unsafe") && !s.TakesUnsafe() {
		return fault.Usagef("name a new directory", "--unsafe: %s is a queue already, and not for trials", dir)
	}
	if err := access.Durable(dir); err != nil {
		cmdline.Warn(c, "%v; %s", err, fault.HintOf(err))
	}
	return nil
}

// forget drops what was noted of a queue that was here before. If it can't, the new queue
// starts nothing until release --restored.
func forget(c *cli.Context, dir string) {
	if had, err := door.Forget(dir); had && err == nil {
		cmdline.Warn(c,
			"another queue was here before: mail of the last 48 hours that it had done is fetched again, and done again")
	}
}

// group returns the group that a flag names. The account that makes a queue must be in it,
// or it could not give the group any file.
func group(c *cli.Context, flag string) (g access.Group, err error) {
	name := c.String(flag)
	if !c.IsSet(flag) {
		return g, nil
	}
	found, err := user.LookupGroup(name)
	if err != nil {
		return g, fault.Usagef("as root: groupadd --system "+name, "--%s: %w", flag, err)
	}
	if g.ID, err = strconv.Atoi(found.Gid); err != nil {
		return g, err
	}
	g.Name = found.Name
	mine, err := os.Getgroups()
	if err != nil {
		return g, err
	}
	if os.Geteuid() != 0 && !slices.Contains(append(mine, os.Getegid()), g.ID) {
		return g, fault.Usagef("as root: usermod -aG "+name+" USER, and log in again",
			"--%s: %s is not in the group %s", flag, cmdline.User(), name)
	}
	return g, nil
}
