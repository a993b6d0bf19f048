package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/address"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/schema"
	"pulse/lib/shared/terms"
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

// extractRisks reports whose text reaches a worker that may do something for it, and whose
// does not although it is the owner's.
func extractRisks(p *policy.Policy, risk func(bool, string, ...any)) {
	for _, t := range []terms.Trust{terms.Unknown, terms.OwnerClaim, terms.ExternalVerified} {
		risk(!p.Extract.Requires(t) && allowed(p, t),
			"extract.require lacks %s: a worker that may do something for it reads its text, which may tell it to do something else", t)
	}
	for _, t := range []terms.Trust{terms.OwnerVerifiedEmail, terms.ApprovedSession} {
		risk(p.Extract.Requires(t), "extract.require has %s: no worker reads what the owner wrote", t)
	}
}

// allowed reports whether anything is allowed for senders of a trust level. Without a list
// there are no external ones.
func allowed(p *policy.Policy, t terms.Trust) bool {
	if t == terms.ExternalVerified {
		if len(p.AllowedExternal) == 0 && len(p.Platforms) == 0 {
			return false
		}
		for i := range p.Senders {
			if !address.Listed(p.Owners, p.Senders[i].Sender) && allows(p.Senders[i].Row) {
				return true
			}
		}
	}
	return allows(p.Matrix[t])
}

func allows(row policy.Row) bool {
	return slices.Contains(slices.Collect(maps.Values(row)), terms.Allow)
}
