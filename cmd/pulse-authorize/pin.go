package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/screen"
	"pulse/lib/approve/tty"
	"pulse/lib/authorize/mcp"
	"pulse/lib/authorize/pinfile"
	"pulse/lib/authorize/pins"
	"pulse/lib/authorize/workspace"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// pin shows a person what a server says of its tools, and keeps it once they accept it.
func pin(c *cli.Context, server string, command []string) error {
	t, err := tty.Open()
	if err != nil {
		return fault.Refusedf("type it at a terminal", "--pin: %w", err)
	}
	defer t.Close()
	p, err := cmdline.Policy(c)
	if err != nil {
		return err
	}
	old, err := pinfile.LoadOne(p.Name, server)
	if err != nil {
		return err
	}
	program, err := exec.LookPath(command[0])
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return fault.Usagef("", "--pin: %w", err)
	}
	command = append([]string{program}, command[1:]...) // another PATH is another program
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	if word := workspace.Replaceable(p.Exec.Workspace, wd, command); word != "" {
		return fault.Usagef("put it elsewhere: ls -l "+escape.Shell(word), "--pin: %s lies in the workspace, where an agent may replace it", escape.Line(word))
	}
	now, err := mcp.List(c.Context, server, command, grace)
	if err != nil {
		return fault.Failedf(escape.Shell(command[0])+" …, to see what it says", "--pin: %w", err)
	}
	now.Command = command
	kept := pinfile.Path(p.Name, server)
	changes := pins.Compare(old, now)
	if old == nil || old.Err != nil || len(changes) > 0 || !slices.Equal(old.Command, command) {
		lines := append([]string{
			screen.Fact("server", "%s", server), screen.Fact("command", "%q", command), screen.Fact("pins", "%s", kept),
		}, shownChanges(old, changes)...)
		if err := accepted(c.Context, t, lines); err != nil {
			return fault.Refusedf("", "--pin: %w", err)
		}
		if err := pinfile.Save(now, p.Name); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %d tools, %d of them new, changed or gone\n", escape.Line(kept), len(now.Tools), len(changes))
	return err
}

// accepted returns nil once a person has seen all lines and typed the code.
func accepted(ctx context.Context, t *tty.Terminal, lines []string) error {
	pages := screen.NewPages(lines)
	for {
		err := t.Show(ctx, pages, true)
		if err == nil {
			err = t.Code(ctx, "accept these definitions")
		}
		if !errors.Is(err, tty.ErrResumed) {
			return err
		}
	}
}
