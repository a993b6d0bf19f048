package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/compare"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
)

// diff prints how the policy NEW differs from OLD, what it allows further first. It fails
// if NEW allows anything that OLD did not, so that a hook or a test run stops there.
func diff(c *cli.Context) error {
	old, err := cmdline.PolicyFile(c.Args().Get(0))
	if err != nil {
		return err
	}
	new, err := cmdline.PolicyFile(c.Args().Get(1))
	if err != nil {
		return err
	}
	switch {
	case c.IsSet("records"):
		return diffRecords(c, old, new)
	case c.Bool("subjects"):
		return fault.Usagef("pulse-authorize diff --records FILE --subjects OLD NEW", "--subjects goes with --records")
	}
	list, err := compared(c.Context, old, new)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.App.Writer)
	wider := 0
	for i := range list {
		d := &list[i]
		if d.Wider() {
			wider++
		}
		if c.Bool("json") {
			fmt.Fprintf(out, "%s\n", d.Append(nil))
		} else {
			fmt.Fprintln(out, escape.Line(d.String()))
		}
	}
	if err := out.Flush(); err != nil || wider == 0 {
		return err
	}
	return fault.Failedf("", "%s allows more than %s", new.Name, old.Name)
}

// compared leaves the comparison to its own goroutine, so that a signal ends the command.
func compared(ctx context.Context, old, new *policy.Policy) ([]compare.Difference, error) {
	done := make(chan []compare.Difference, 1)
	go func() { done <- compare.Policies(old, new, cmdline.Schema) }()
	select {
	case list := <-done:
		return list, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
