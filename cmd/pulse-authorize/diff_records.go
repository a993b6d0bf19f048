package main

import (
	"github.com/urfave/cli/v2"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
)

// diffRecords prints which records the two policies decide otherwise.
func diffRecords(c *cli.Context, old, new *policy.Policy) error {
	return fault.Usagef("pulse-authorize diff OLD NEW", "--records %s: there is nothing here yet that reads records", c.String("records"))
}
