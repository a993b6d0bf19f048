package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// matrix prints the outcome for each trust level and action.
func matrix(c *cli.Context) error {
	p, err := cmdline.Policy(c)
	if err != nil {
		return err
	}
	tab := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	head := []string{"TRUST"}
	for _, a := range terms.Actions {
		head = append(head, string(a))
	}
	fmt.Fprintln(tab, strings.Join(head, "\t"))
	for _, t := range terms.TrustLevels {
		writeRow(tab, string(t), p.Matrix[t])
	}
	for i := range p.Senders {
		writeRow(tab, p.Senders[i].Name(), p.Senders[i].Row)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "\nconfirm = %s, review = %s\n"+
		"effects with %s, %s or %s: never allow, at most confirm\n",
		terms.Confirm, terms.Review, terms.ExternalSend, terms.Destructive, terms.CodeOrComputer)
	if err := narrowings(c.App.Writer, p); err != nil {
		return err
	}
	return flows(c.App.Writer, p)
}

// flows prints what [flow] changes for effects of a task that has a label.
func flows(out io.Writer, p *policy.Policy) (err error) {
	for _, l := range label.All {
		f := p.Flow[l]
		if f.Confirm != nil {
			_, err = fmt.Fprintf(out, "effects of a task labelled %s: at most confirm for %s\n", l, strings.Join(f.Confirm, ", "))
		}
		if f.Deny != nil {
			_, err = fmt.Fprintf(out, "effects of a task labelled %s: reject for %s\n", l, strings.Join(f.Deny, ", "))
		}
	}
	return err
}

func writeRow(out io.Writer, name string, row policy.Row) {
	cells := []string{name}
	for _, a := range terms.Actions {
		cells = append(cells, short[row.Outcome(a)])
	}
	fmt.Fprintln(out, strings.Join(cells, "\t"))
}

// narrowings prints what holds for one sender or chat besides the rows.
func narrowings(out io.Writer, p *policy.Policy) (err error) {
	if len(p.Senders) > 0 {
		_, err = fmt.Fprintf(out, "the row of a sender stands in for %s and %s, the address before the domain\n",
			terms.OwnerVerifiedEmail, terms.ExternalVerified)
	}
	for i := range p.Senders {
		if s := &p.Senders[i]; s.Tools != nil {
			_, err = fmt.Fprintf(out, "effects for %s: of the tools only %s\n", s.Name(), patterns(s.Tools))
		}
	}
	for _, pl := range p.Platforms {
		for _, c := range pl.Chats {
			if c.Tools != nil {
				_, err = fmt.Fprintf(out, "effects for chat %s of %s: of the tools only %s\n",
					c.ID, escape.Line(pl.Source), patterns(c.Tools))
			}
		}
	}
	return err
}

func patterns(globs []string) string {
	if len(globs) == 0 {
		return "those of pulse-queue"
	}
	return strings.Join(globs, ", ")
}

var short = map[terms.Outcome]string{
	terms.Allow: "allow", terms.Confirm: "confirm", terms.Review: "review", terms.Reject: "reject",
}
