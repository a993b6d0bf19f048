package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/judge"
	"pulse/lib/authorize/mcp"
	"pulse/lib/authorize/pinfile"
	"pulse/lib/authorize/pins"
	"pulse/lib/authorize/wire"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
)

// grace is how long an MCP server may take to end.
const grace = 5 * time.Second

// hookMCP stands between a client, on standard input and output, and an MCP server.
func hookMCP(c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) < 3 {
		return fault.Usagef("pulse-authorize hook mcp notes -- notes-server", "hook mcp: want NAME -- SERVER [ARG...]")
	}
	server, ok := pins.ServerName(args[1])
	if !ok {
		return fault.Usagef("pulse-authorize hook mcp notes -- notes-server",
			"hook mcp: %q is no name of a server: want at most 40 letters, digits, - and single _", args[1])
	}
	if c.Bool("pin") {
		return pin(c, server, args[2:])
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	p := mcp.Proxy{Stderr: os.Stderr, Grace: grace, Wait: hurry}
	if socket := judgeOf(c); socket != "" {
		p.Judge = &runsJudge{socket, server, dir}
	} else {
		p.Judge = &ownJudge{c: c, server: server, dir: dir}
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a client that is gone is an error of a write
	status, err := p.Run(c.Context, args[2:], os.Stdin, os.Stdout)
	if err != nil {
		return fault.Usagef("", "hook mcp: %w", err)
	}
	return cmdline.Ended(status)
}

// runsJudge is the judge of the run, for the tools of one server.
type runsJudge struct{ socket, server, dir string }

func (j *runsJudge) Call(ctx context.Context, tool string, args record.Value) (bool, string) {
	var o record.Object
	o.Str("server", j.server)
	o.Str("call", tool)
	o.Raw("args", []byte(args))
	o.Str("dir", j.dir)
	answer, err := wire.Ask(ctx, j.socket, o.Bytes())
	if err != nil {
		return unjudged(err)
	}
	outcome, err := answer.Text("outcome")
	if err != nil {
		return unjudged(err)
	}
	why, err := answer.Text("reason")
	if err != nil {
		return unjudged(err)
	}
	return outcome == string(hook.Allow), why
}

func unjudged(err error) (bool, string) { return false, "pulse: " + hook.Shown(err.Error()) }

func (j *runsJudge) Show(ctx context.Context, definitions record.Value) (names []string, err error) {
	var o record.Object
	o.Str("server", j.server)
	o.Raw("tools", []byte(definitions))
	answer, err := wire.Ask(ctx, j.socket, o.Bytes())
	if err != nil {
		return nil, err
	}
	v, err := answer.Raw("tools")
	if err == nil {
		err = v.Into(&names)
	}
	return names, err
}

// ownJudge judges the tools of one server outside of any run.
type ownJudge struct {
	c           *cli.Context
	server, dir string
	listed      judge.Listed
}

// open returns the judge, who knows what the server has listed.
func (j *ownJudge) open(ctx context.Context) (*own, error) {
	o, err := openOwn(ctx, j.c)
	if err != nil {
		return nil, err
	}
	s, err := pinfile.LoadOne(o.judge.Policy.Name, j.server)
	if err != nil {
		o.close()
		return nil, err
	}
	if s != nil {
		o.judge.Pins = pins.Pins{j.server: s}
	}
	o.judge.Listed = j.listed
	return o, nil
}

func (j *ownJudge) Call(ctx context.Context, tool string, args record.Value) (bool, string) {
	o, err := j.open(ctx)
	if err != nil {
		return unjudged(err)
	}
	defer o.close()
	u := hook.Call(j.server, tool, j.dir, args)
	outcome, why := o.judge.Use(&u)
	if err := o.keep(); err != nil {
		return unjudged(err)
	}
	return outcome == hook.Allow, why
}

func (j *ownJudge) Show(ctx context.Context, definitions record.Value) ([]string, error) {
	o, err := j.open(ctx)
	if err != nil {
		return nil, err
	}
	defer o.close()
	names, err := o.judge.Show(j.server, definitions)
	j.listed = o.judge.Listed
	return names, errors.Join(err, o.keep())
}
