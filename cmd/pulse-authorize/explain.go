package main

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/explain"
	"pulse/lib/authorize/workspace"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
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
	for n := 0; ; {
		rec, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err == nil && cmdline.Lone(c, rec) {
			continue
		}
		var x *explain.Explanation
		if err == nil {
			x, err = explained(rec, p)
		}
		if err == nil {
			err = record.WriteLine(out, show(x, n))
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		n++
	}
}

func explained(rec *record.Record, p *policy.Policy) (*explain.Explanation, error) {
	s, err := explain.Read(rec, p, workspace.World{})
	if err != nil {
		return nil, fault.Failedf("pulse-fetch … | pulse-authorize explain", "%w", err)
	}
	return explain.Of(s), nil
}

// asText returns the lines about a record. An empty line stands between two records.
func asText(x *explain.Explanation, n int) []byte {
	text := strings.Join(x.Lines(), "\n") + "\n"
	if n > 0 {
		text = "\n" + text
	}
	return []byte(text)
}

func asJSON(x *explain.Explanation, _ int) []byte { return append(x.Append(nil), '\n') }
