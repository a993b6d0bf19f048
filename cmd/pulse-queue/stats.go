package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"pulse/lib/cmdline"
	"pulse/lib/escape"
	"pulse/lib/fault"
	"pulse/lib/queue"
	"pulse/lib/record"
	"pulse/lib/spool"
	"pulse/lib/task"
)

func stats(c *cli.Context) error {
	s, err := cmdline.QueueOrNew(c)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.View(func(v queue.View) error {
		counts := map[task.State]int{}
		for _, st := range task.States {
			if counts[st], err = v.Count(st); err != nil {
				return err
			}
		}
		day, refused := v.Refused()
		held, err := queue.Held(v)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return statsJSON(c, counts, day, refused, held != "")
		}
		return statsTable(c, counts, day, refused, held)
	})
}

func statsJSON(c *cli.Context, counts map[task.State]int, day string, refused int, held bool) error {
	var o record.Object
	for _, st := range task.States {
		o.Int(string(st), int64(counts[st]))
	}
	o.Int("refused", int64(refused))
	o.StrIf("refused_day", day)
	o.Bool("held", held)
	_, err := fmt.Fprintf(c.App.Writer, "%s\n", o.Bytes())
	return err
}

func statsTable(c *cli.Context, counts map[task.State]int, day string, refused int, held string) error {
	tab := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	for _, st := range task.States {
		fmt.Fprintf(tab, "%s\t%d\n", st, counts[st])
	}
	if day != "" {
		fmt.Fprintf(tab, "refused\t%d on %s\n", refused, day)
	}
	if held != "" {
		fmt.Fprintf(tab, "held\t%s\n", escape.Message(held))
	}
	return tab.Flush()
}

// verify prints the head of the audit log, or what is wrong.
func verify(c *cli.Context) error {
	s, err := cmdline.QueueOrNew(c)
	if err != nil {
		return err
	}
	defer s.Close()
	report, err := s.Verify()
	if err != nil {
		return err
	}
	if h := c.String("head"); h != "" && !report.Knows(h) {
		report.Findings = append(report.Findings, fmt.Sprintf("head %s is not in the chain", h))
	}
	for _, f := range report.Findings {
		cmdline.Note(c, "%s", f)
	}
	if n := len(report.Findings); n > 0 {
		return fault.Failedf("man 5 pulse-queue", "%d findings", n)
	}
	_, err = fmt.Fprintln(c.App.Writer, spool.Bare(report.Head))
	return err
}
