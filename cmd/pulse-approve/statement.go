package main

import (
	"bytes"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/authorize/workspace"
	"pulse/lib/queue/door"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
)

// statement prints what the screen would show and, last, the line that a person signs
// elsewhere. It stores nothing.
func statement(c *cli.Context) error {
	p, err := cmdline.Policy(c)
	if err != nil {
		return err
	}
	if err := desk.Keyed(p); err != nil {
		return err
	}
	say, err := stated(c)
	if err != nil {
		return err
	}
	s, err := door.Queue(c)
	if err != nil {
		return err
	}
	defer s.Close()
	holders, err := desk.Holders(s.Keeper()) // before what follows takes the right to look
	if err == nil {
		_, err = door.Confine(c, s, workspace.Named(p)...)
	}
	if err != nil {
		return err
	}
	lines, line, err := say(c, p, s, holders)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	b.Write(line)
	_, err = c.App.Writer.Write(b.Bytes())
	return err
}

// stating makes what statement prints: the lines to read, and the line to sign.
type stating func(*cli.Context, *policy.Policy, door.Store, desk.Holder) (lines []string, line []byte, err error)

// stated returns what the command line asks a line for: a task, a grant or a session.
func stated(c *cli.Context) (say stating, err error) {
	const usage = "pulse-approve statement ID [--no], or --grant TARGET, or --session SENDER --for 1h --max 5"
	var of []string
	for _, k := range []struct {
		kind  string
		asked bool
		say   stating
	}{
		{"task", c.NArg() > 0, ofTask},
		{"grant", c.IsSet("grant") || c.IsSet("any"), ofGrant},
		{"session", c.IsSet("session"), ofSession},
	} {
		if k.asked {
			of, say = append(of, k.kind), k.say
		}
	}
	if len(of) != 1 {
		return nil, fault.Usagef(usage, "want a task's ID, --grant, --any or --session, and one of them")
	}
	for flag, kinds := range map[string][]string{
		"no": {"task"}, "task": {"grant"}, "for": {"grant", "session"}, "max": {"session"},
	} {
		if c.IsSet(flag) && !slices.Contains(kinds, of[0]) {
			return nil, fault.Usagef(usage, "--%s is not for the line of a %s", flag, of[0])
		}
	}
	return say, nil
}

func ofTask(c *cli.Context, p *policy.Policy, s door.Store, holders desk.Holder) ([]string, []byte, error) {
	return desk.Statement(s, p, holders, c.Args().First(), c.Bool("no"))
}

func ofGrant(c *cli.Context, p *policy.Policy, _ door.Store, _ desk.Holder) ([]string, []byte, error) {
	g, err := wanted(c, c.String("grant"))
	if err != nil {
		return nil, nil, err
	}
	if err := useful(p, &g); err != nil {
		return nil, nil, err
	}
	g.Given, g.Expires = g.Given.Truncate(time.Second), g.Expires.Truncate(time.Second)
	return describe(&g), g.Statement(), nil
}

// ofSession makes the line of a session, which begins now: nobody can tell when it will be
// signed.
func ofSession(c *cli.Context, p *policy.Policy, q door.Store, _ desk.Holder) ([]string, []byte, error) {
	s, err := asked(c, p, c.String("session"))
	if err != nil {
		return nil, nil, err
	}
	s.Opened = time.Now().UTC().Truncate(time.Second)
	s.Expires = s.Opened.Add(c.Duration("for").Truncate(time.Second))
	lines, err := opening(c, p, q, &s)
	return lines, s.Statement(), err
}
