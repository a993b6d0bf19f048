package main

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/check"
	"pulse/lib/authorize/layout"
	"pulse/lib/authorize/pinfile"
	"pulse/lib/queue/access"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/schema"
)

// checkPolicy prints what is risky about a valid policy, one line each.
func checkPolicy(c *cli.Context) error {
	p, err := cmdline.Policy(c)
	if err != nil {
		return err
	}
	s, err := cmdline.Schema(p)
	if err != nil {
		return err
	}
	if c.Bool("residency") {
		return residency(c, p, s)
	}
	if c.Bool("live") {
		return checkLive(c, p)
	}
	if c.IsSet("environment") || c.IsSet("wait") {
		return fault.Usagef("pulse-authorize check --live --environment FILE --wait 10m", "--environment is for --residency and --live, --wait for --live")
	}
	servers, err := pinfile.Load(p.Name)
	if err != nil {
		return err
	}
	list := risks(p, cmdline.QueueDir(c))
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if err := servers[name].Err; err != nil {
			list = append(list, fmt.Sprintf("%v: no tool of %s may be used", err, name))
		}
	}
	for _, r := range list {
		fmt.Fprintf(c.App.Writer, "risk: %s\n", escape.Line(r))
	}
	if held := destinations(&p.Outbound); held != "" {
		fmt.Fprintln(c.App.Writer, held)
	}
	if s != nil {
		fmt.Fprintf(c.App.Writer, "extract.schema %s: at most %d bytes of free text, %s\n", escape.Line(p.Extract.Schema), s.Free, s.Digest)
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if servers[name].Err == nil {
			fmt.Fprintf(c.App.Writer, "%s: %d tools accepted, %s\n", name, len(servers[name].Tools), escape.Line(pinfile.Path(p.Name, name)))
		}
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: valid, %s\n", escape.Line(p.Name), p.Digest)
	return err
}

// destinations says which targets outbound.allow lets through, in the form in which they are compared,
// where that need not be how the file spells them.
func destinations(o *policy.Outbound) string {
	if !slices.ContainsFunc(o.Allow, func(entry string) bool { return strings.Contains(entry, ":") }) {
		return ""
	}
	return "outbound.allow lets through " + escape.Line(strings.Join(o.Allow, ", "))
}

func risks(p *policy.Policy, queue string) []string {
	if queue == "" {
		return check.Risks(p, "", nil)
	}
	return check.Risks(p, queue, access.Ground(queue))
}

// residency prints which bytes of whose mail go where.
func residency(c *cli.Context, p *policy.Policy, s *schema.Schema) error {
	l, err := layout.Read(environment(c, p), c.IsSet("environment"))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.App.Writer, strings.Join(check.Residency(p, s, l), "\n"))
	return err
}

// environment returns the file that says what the units start.
func environment(c *cli.Context, p *policy.Policy) string {
	return cmp.Or(c.String("environment"), filepath.Join(filepath.Dir(p.Name), "environment"))
}
