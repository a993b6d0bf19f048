package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/cmdline"
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
		row := []string{string(t)}
		for _, a := range terms.Actions {
			row = append(row, short[p.Matrix[t].Outcome(a)])
		}
		fmt.Fprintln(tab, strings.Join(row, "\t"))
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "\nconfirm = %s, review = %s\n"+
		"effects with %s, %s or %s: never allow, at most confirm\n",
		terms.Confirm, terms.Review, terms.ExternalSend, terms.Destructive, terms.CodeOrComputer)
	return err
}

var short = map[terms.Outcome]string{
	terms.Allow: "allow", terms.Confirm: "confirm", terms.Review: "review", terms.Reject: "reject",
}
