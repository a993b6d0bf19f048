package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/door"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

// verify prints the head of the audit log, or what is wrong.
func verify(c *cli.Context, s door.Store) error {
	head := audit.Bare(c.String("head"))
	if b, err := hex.DecodeString(head); err != nil || c.IsSet("head") && len(b) != sha256.Size {
		return fault.Usagef("pulse-queue verify prints one", "--head: a head is 64 hexadecimal digits")
	}
	report, err := s.Verify(head)
	if err != nil {
		return err
	}
	if !report.Knows {
		report.Findings = append(report.Findings, fmt.Sprintf("head %s is not in the chain", c.String("head")))
	}
	for _, f := range report.Findings {
		cmdline.Note(c, "%s", f)
	}
	if n := len(report.Findings); n > 0 {
		return fault.Failedf("man 5 pulse-queue", "%s", cmdline.Count(n, "finding"))
	}
	_, err = fmt.Fprintln(c.App.Writer, audit.Bare(report.Head))
	return err
}
