package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

func toolsCommand(policy cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "tools", ArgsUsage: "[NAME...]",
		Usage: "print which of these tools an agent may see", Action: listTools,
		Flags: []cli.Flag{policy,
			&cli.StringFlag{Name: "trust",
				Usage: "`T` of the sender it works for: leave out what only the owner may have used"},
			&cli.StringFlag{Name: "sender",
				Usage: "`ADDR` of the sender it works for: leave out what the sender's row takes away"},
			&cli.StringFlag{Name: "chat",
				Usage: "`ID` of the chat that the sender wrote in: leave out what the chat takes away"},
			&cli.BoolFlag{Name: "json", Usage: "an object for each name, seen or not"},
		},
	}
}

// listTools prints which of the tools an agent may see, in the order in which the arguments
// or the lines of standard input name them.
func listTools(c *cli.Context) error {
	by := tools.Asker{Trust: terms.Trust(c.String("trust")), Sender: c.String("sender")}
	var bad error
	if c.IsSet("chat") {
		by.Chat, bad = peer.Parse(c.String("chat"))
	}
	switch {
	case bad != nil:
		return fault.Usagef("--chat -100123, --chat C024BE91L or --chat '\"80351110224678912\"'", "--chat %s: %w", c.String("chat"), bad)
	case c.IsSet("trust") && !by.Trust.Valid():
		return fault.Usagef("man 5 pulse-record", "--trust: there is no trust level %s", by.Trust)
	case c.IsSet("chat") && !c.IsSet("sender"):
		return fault.Usagef("--sender telegram:123456789 --chat -100123", "--chat needs --sender, which names the platform")
	}
	p, err := cmdline.Policy(c)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.App.Writer)
	show := func(name string) { showTool(out, p, name, by, c.Bool("json")) }
	for _, name := range c.Args().Slice() {
		show(name)
	}
	if c.Args().Len() == 0 {
		err = lines(cmdline.Stdin(c, 0, out.Flush), show)
	}
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	return err
}

// lines calls fn for each line that is not empty.
func lines(in io.Reader, fn func(string)) error {
	s := bufio.NewScanner(in)
	for s.Scan() {
		if s.Text() != "" {
			fn(s.Text())
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("stdin: %w", err)
	}
	return nil
}

func showTool(out io.Writer, p *policy.Policy, name string, by tools.Asker, json bool) {
	visible, rule := tools.Shown(p, name, by)
	if !json {
		if visible { // so it is a tool's name, and harmless to show
			fmt.Fprintln(out, name)
		}
		return
	}
	var o record.Object
	o.Str("tool", strings.ToValidUTF8(name, "\ufffd"))
	o.Bool("visible", visible)
	o.Str("level", tools.LevelName(p, name))
	o.Str("action", string(tools.Action(p, name)))
	o.Str("rule", rule)
	fmt.Fprintf(out, "%s\n", o.Bytes())
}
