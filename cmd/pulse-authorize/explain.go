package main

import (
	"bufio"
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/explain"
	"pulse/lib/authorize/workspace"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
	"pulse/lib/shared/sandbox"
)

func explainCommand(policy cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "explain", Usage: "say why records are decided as they are, and what would decide otherwise", Action: explainRecords,
		Flags: []cli.Flag{policy, cmdline.MaxRecordFlag(), cmdline.SandboxFlag(),
			&cli.BoolFlag{Name: "json", Usage: "an object for each record"},
		},
	}
}

// explainRecords explains records of any stage, one after the other.
func explainRecords(c *cli.Context) error {
	p, err := cmdline.Policy(c)
	if err != nil {
		return err
	}
	if _, err := cmdline.Confine(c, sandbox.Pipe(workspace.Named(p)...)); err != nil {
		return err
	}
	out := bufio.NewWriterSize(c.App.Writer, 64<<10)
	in := record.NewReader(cmdline.Stdin(c, 0, out.Flush), "stdin", cmdline.MaxRecord(c), explain.Members...)
	show := asText
	if c.Bool("json") {
		show = asJSON
	}
	n := 0
	err = cmdline.Each(c, in, func(rec *record.Record) error {
		if cmdline.Lone(c, rec) {
			return nil
		}
		s, err := explain.Read(rec, p, workspace.World{})
		if err != nil {
			return fault.Failedf("pulse-fetch … | pulse-authorize explain", "%w", err)
		}
		n++
		return record.WriteLine(out, show(explain.Of(s), n))
	})
	return errors.Join(err, out.Flush())
}

// asText returns the lines about the nth record. An empty line stands between two records.
func asText(x *explain.Explanation, n int) []byte {
	text := strings.Join(x.Lines(), "\n") + "\n"
	if n > 1 {
		text = "\n" + text
	}
	return []byte(text)
}

func asJSON(x *explain.Explanation, _ int) []byte { return append(x.Append(nil), '\n') }
