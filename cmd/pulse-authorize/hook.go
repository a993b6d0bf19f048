package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/wire"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
)

func hookCommand(policy cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "hook", ArgsUsage: "CLIENT|install|uninstall|check [ARG...]", Usage: "judge uses of tools, as the hook of an agent's client or between it and an MCP server", Action: runHook,
		Flags: []cli.Flag{policy,
			&cli.StringFlag{Name: "judge", Usage: "`SOCKET` of the run that judges; default PULSE_JUDGE, else the hook judges for PULSE_RECORD"},
			&cli.BoolFlag{Name: "pin", Usage: "with mcp: show the definitions of the server's tools, and accept them as they are"},
			&cli.BoolFlag{Name: "terminal", Usage: "judge for the person at the client's terminal, and ask them"},
			&cli.BoolFlag{Name: "user", Usage: "install, uninstall: in the settings of this account (default)"},
			&cli.StringFlag{Name: "dir", Usage: "`DIR` install, uninstall: in the settings of this project; check: start the client there"},
			&cli.BoolFlag{Name: "dry-run", Usage: "install, uninstall: show what would change, and change nothing"},
		},
	}
}

const (
	maxCall = 8 << 20          // bytes of a call
	hurry   = 40 * time.Second // for a judgement: the clients go on after a minute
)

func runHook(c *cli.Context) error {
	if do := setUps[c.Args().First()]; do != nil {
		return setUp(c, do)
	}
	client := hook.Client(c.Args().First())
	switch {
	case client == hook.MCP:
		return hookMCP(c)
	case !client.Valid():
		return fault.Usagef("man pulse-authorize", "hook %s: there is no such client: want claude-code, codex, gemini or mcp, or install, uninstall or check", client)
	case c.Bool("pin"):
		return fault.Usagef("pulse-authorize hook --pin mcp NAME -- SERVER", "--pin is for mcp: %s has no definitions", client)
	case c.Args().Len() > 1:
		return fault.Usagef("pulse-authorize hook "+string(client), "hook %s takes no arguments", client)
	}
	say, err := judged(c, client)
	if err != nil { // a client goes on at most failures of a hook, and so they are a no
		say = client.Say(hook.Deny, "pulse: "+hook.Shown(err.Error()))
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s\n", say)
	return err
}

// judged reads one call, and has the run judge it, or judges it itself.
func judged(c *cli.Context, client hook.Client) ([]byte, error) {
	ctx, cancel := context.WithTimeout(c.Context, hurry)
	defer cancel()
	event, err := io.ReadAll(io.LimitReader(cmdline.Stdin(c, 0, func() error { return nil }), maxCall+1))
	if err != nil || len(event) > maxCall {
		return nil, errors.Join(errCall, err)
	}
	if c.Bool("terminal") {
		return atTerminal(ctx, c, client, event)
	}
	if socket := judgeOf(c); socket != "" {
		return askRun(ctx, socket, client, event)
	}
	own, err := openOwn(ctx, c)
	if err != nil {
		return nil, err
	}
	defer own.close()
	say := own.judge.Event(client, event)
	return say, own.keep()
}

var errCall = errors.New("the call can not be read")

func askRun(ctx context.Context, socket string, client hook.Client, event []byte) ([]byte, error) {
	v, err := record.ParseValue(event)
	if err != nil {
		return nil, errCall
	}
	var o record.Object
	o.Str("hook", string(client))
	o.Raw("event", []byte(v))
	answer, err := wire.Ask(ctx, socket, o.Bytes())
	if err != nil {
		return nil, err
	}
	say, err := answer.Raw("say")
	return []byte(say), err
}
