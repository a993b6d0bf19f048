package main

import (
	"bytes"
	"encoding/json"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/schema"
)

// printSchema prints a schema that is closed: the one of that name or file, else that of the
// policy.
func printSchema(c *cli.Context) error {
	s, err := schemaFor(c)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, s.Text, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = out.WriteTo(c.App.Writer)
	return err
}

func schemaFor(c *cli.Context) (*schema.Schema, error) {
	if name := c.Args().First(); name != "" {
		return cmdline.SchemaFile(name)
	}
	p, err := cmdline.Policy(c)
	if err != nil {
		return nil, err
	}
	s, err := cmdline.Schema(p)
	if err == nil && s == nil {
		err = fault.Usagef("pulse-authorize schema request", "%s has no [extract]", p.Name)
	}
	return s, err
}
