package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/answers"
	"pulse/lib/approve/desk"
	"pulse/lib/shared/address"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// signedAnswer records a yes or a no to one task that --signature brings.
func signedAnswer(c *cli.Context, no bool) error {
	if c.NArg() != 1 || c.IsSet("sender") {
		return fault.Usagef("pulse-approve take FILE", "--signature is for one task, by its id")
	}
	asked := c.Args().First()
	if no {
		asked += " --no"
	}
	return brought(c, asked, func(t *desk.Taker, a *answers.Answer) error {
		return t.Answer(c.Args().First(), no, c.String("reason"), a)
	})
}

// signedGrant records a grant that --signature brings with its line.
func signedGrant(c *cli.Context) error {
	if err := alone(c, "task", "for"); err != nil {
		return err
	}
	const asked = "--grant TARGET"
	target, anyTarget := c.Args().First(), c.Bool("any")
	return brought(c, asked, func(t *desk.Taker, a *answers.Answer) error {
		l, err := lineOf(a)
		switch {
		case err != nil:
			return err
		case l.Grant == nil:
			return fault.Refusedf("pulse-approve statement "+asked, "what was signed is not a grant")
		case anyTarget && l.Grant.Target != "", target != "" && !t.Same(target, l.Grant.Target):
			return fault.Refusedf("", "what was signed is a grant for %s", orAny(l.Grant.Target))
		}
		return t.Grant(*l.Grant, a.Armor)
	})
}

// signedSession opens a session that --signature brings with its line.
func signedSession(c *cli.Context) error {
	if err := alone(c, "for", "max"); err != nil {
		return err
	}
	const asked = "--session SENDER --for 1h --max 5"
	sender := c.Args().First()
	return brought(c, asked, func(t *desk.Taker, a *answers.Answer) error {
		l, err := lineOf(a)
		switch {
		case err != nil:
			return err
		case l.Session == nil:
			return fault.Refusedf("pulse-approve statement "+asked, "what was signed is not a session")
		case sender != "" && !address.Equal(sender, l.Session.Sender):
			return fault.Refusedf("", "what was signed is a session for %s", escape.ASCII(l.Session.Sender))
		}
		return t.Session(*l.Session, a.Armor)
	})
}

// alone fails if a flag is given that the signed line has the value of.
func alone(c *cli.Context, flags ...string) error {
	for _, name := range flags {
		if c.IsSet(name) {
			return fault.Usagef("pulse-approve statement --"+name+" …", "--%s does not go with --signature: the line that was signed says it", name)
		}
	}
	return nil
}

// lineOf reads the line that was signed, which --signature has to bring for what is given
// ahead: it can't be made again.
func lineOf(a *answers.Answer) (l approval.Line, err error) {
	if err = a.Whole(); err == nil {
		l, err = approval.ParseLine(a.Line)
	}
	if err != nil {
		return l, fault.Refusedf("the file holds the line, and then its signature", "--signature: %w", err)
	}
	return l, nil
}

// brought reads the one answer that --signature names, once it is known that a signature
// counts here, and calls fn with it. asked is what statement prints the line for.
func brought(c *cli.Context, asked string, fn func(*desk.Taker, *answers.Answer) error) error {
	t, err := desk.Take(c)
	if err != nil {
		return err
	}
	defer t.Close()
	hint := "pulse-approve statement " + asked + " | tail -n 1 | ssh-keygen -Y sign -n pulse-approve -f KEY"
	b, err := desk.ReadAnswers(c, c.String("signature"))
	if err != nil {
		return fault.Usagef(hint, "--signature: %w", err)
	}
	list := slices.Collect(answers.All(b))
	switch {
	case len(list) == 0:
		return fault.Refusedf(hint, "--signature: there is no signature in it")
	case len(list) > 1:
		return fault.Refusedf("pulse-approve take "+escape.Shell(c.String("signature")), "--signature: it holds %d answers", len(list))
	case list[0].Armor == "":
		return fault.Refusedf(hint, "--signature: %w", list[0].Whole())
	}
	return fn(t, &list[0])
}
