package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"pulse/lib/classify/identity"
	"pulse/lib/classify/suggest"
	"pulse/lib/shared/address"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
	"pulse/lib/shared/sandbox"
)

// suggestPolicy reads all records and prints what the policy should say about the servers
// that received them.
func suggestPolicy(c *cli.Context) error {
	owner := c.String("owner")
	if _, _, err := address.Split(owner); owner != "" && err != nil {
		return fault.Usagef("pulse-classify suggest --owner you@example.com", "--owner: %s: %w", owner, err)
	}
	if _, err := cmdline.Confine(c, sandbox.Pipe()); err != nil {
		return err
	}
	survey := suggest.New(owner)
	stdin := cmdline.Stdin(c, 0, func() error { return nil })
	in := record.NewReader(stdin, "stdin", cmdline.MaxRecord(c), identity.OriginMembers...)
	err := cmdline.Each(c, in, func(rec *record.Record) error {
		if cmdline.Lone(c, rec) {
			return nil
		}
		origin, err := identity.ReadOrigin(rec)
		if err != nil {
			return withoutMessage(err)
		}
		if origin.Message != nil {
			survey.Add(origin.Message)
		}
		return nil
	})
	if err == nil {
		_, err = io.WriteString(c.App.Writer, survey.Report())
	}
	return err
}
