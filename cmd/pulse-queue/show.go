package main

import (
	"errors"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/audit"
	"pulse/lib/cmdline"
	"pulse/lib/fault"
	"pulse/lib/policy"
	"pulse/lib/queue"
	"pulse/lib/runner"
	"pulse/lib/spool"
)

func showCommand(queueFlag, policyFlag, confined cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "show", ArgsUsage: "ID", Usage: "tell a task's whole story", Action: show,
		Flags: []cli.Flag{queueFlag, policyFlag, confined, &cli.BoolFlag{Name: "json", Usage: "the record instead of text"}},
	}
}

func show(c *cli.Context) error {
	var p *policy.Policy
	if c.String("policy") != "" {
		var err error
		if p, err = cmdline.Policy(c); err != nil {
			return err
		}
	}
	s, err := cmdline.Queue(c)
	if err != nil {
		return err
	}
	defer s.Close()
	locks := runner.Dir(spool.Workers(c.String("queue")))
	dead := locks.Seen()
	if _, err := cmdline.ConfineToQueue(c, cmdline.Named(p)...); err != nil {
		return err
	}
	t := teller{where: cmdline.Where(c), policy: p, now: time.Now(), locks: locks, dead: dead}
	err = t.read(s, c.Args().First(), c.Bool("json"))
	if errors.Is(err, queue.ErrUnknown) {
		return fault.Failedf(t.where.Command("pulse-queue list --all"), "%w", err)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.App.Writer, t.out.String())
	return err
}

// unknown says where to look for an id that nobody knows.
func unknown(err error) error {
	return fault.Failedf("pulse-queue list --all", "%w", err)
}

// about returns the lines of the log about a task, oldest first.
func about(s queue.Store, id string) (list []audit.Line, err error) {
	lines, err := linesAbout(s, time.Time{}, id)
	if err != nil {
		return nil, err
	}
	err = lines(func(_ []byte, l *audit.Line) error {
		if l.Task == id || l.Parent == id && l.Event != audit.Noted || l.Grant != nil && l.Grant.Task == id {
			list = append(list, *l)
		}
		return nil
	})
	return list, err
}
