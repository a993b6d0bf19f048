// Pulse-authorize decides what the sender of a record may ask for. See
// pulse-authorize(1).
package main

import (
	"bufio"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/tty"
	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/workspace"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/sandbox"
)

func main() { os.Exit(cmdline.Main(app())) }

func app() *cli.App {
	policy, maxRecord, confined := cmdline.PolicyFlag(), cmdline.MaxRecordFlag(), cmdline.SandboxFlag()
	return &cli.App{
		Name:  "pulse-authorize",
		Usage: "Decide what the sender of a record may ask for.", Action: authorize, Metadata: cmdline.Idles(""),
		Flags: []cli.Flag{policy, maxRecord, confined,
			&cli.BoolFlag{Name: "unsafe-allow-all",
				Usage: "for trials at a terminal: allow everything, check nothing"},
		},
		Commands: []*cli.Command{{
			Name: "matrix", Usage: "print the policy's answers as a table", Action: matrix,
			Flags: []cli.Flag{policy},
		}, {
			Name: "check", Usage: "validate the policy and list what is risky", Action: checkPolicy,
			Flags: []cli.Flag{policy, cmdline.QueueFlag(),
				&cli.BoolFlag{Name: "residency", Usage: "print which bytes of whose mail go where instead"},
				&cli.BoolFlag{Name: "live", Usage: "try mailbox, proof, queue, model, sender, timers and the way of a first mail"},
				&cli.DurationFlag{Name: "wait", Value: 10 * time.Minute, Usage: "`D` with --live: wait so long for that mail; default: 10m"},
				&cli.StringFlag{Name: "environment", Usage: "`FILE` what the units start; default: environment beside the policy"},
			},
		}, {
			Name: "schema", ArgsUsage: "[NAME]", Action: printSchema,
			Usage: "print the schema that what readers of mail print has to fit",
			Flags: []cli.Flag{policy},
		}, toolsCommand(policy), {
			Name: "diff", ArgsUsage: "OLD NEW", Action: diff,
			Usage: "print what the policy NEW allows that OLD did not",
			Flags: []cli.Flag{
				&cli.BoolFlag{Name: "json", Usage: "an object for each difference"},
				&cli.StringFlag{Name: "records",
					Usage: "`FILE` print which of these records are decided otherwise; - is stdin"},
				&cli.BoolFlag{Name: "subjects", Usage: "with --records: print subjects too"},
				maxRecord, confined,
			},
		}, {
			Name: "test", ArgsUsage: "FILE|DIR", Action: testPolicy,
			Usage: "decide on records whose decision is known, and print what differs",
			Flags: []cli.Flag{policy,
				&cli.BoolFlag{Name: "tap", Usage: "print TAP, the Test Anything Protocol"},
				maxRecord, confined,
			},
		}, initCommand(), explainCommand(policy), permitsCommand(policy), hookCommand(policy)},
	}
}

// authorize is the stage: records in, records with a decision out.
func authorize(c *cli.Context) error {
	decide := decision.Decide
	if c.Bool("unsafe-allow-all") {
		t, err := tty.Open()
		if err != nil {
			return fault.Refusedf("leave --unsafe-allow-all out, and say --policy FILE",
				"--unsafe-allow-all is for trials at a terminal: %w", err)
		}
		t.Close()
		decide = decision.AllowAll
	}
	p, err := policyFor(c)
	if err != nil {
		return err
	}
	if cmdline.Nothing(c) {
		return nil
	}
	if _, err := cmdline.Confine(c, sandbox.Pipe(workspace.Named(p)...)); err != nil {
		return err
	}
	cmdline.Streams()
	out := bufio.NewWriterSize(c.App.Writer, 64<<10)
	in := record.NewReader(cmdline.Stdin(c, 0, out.Flush), "stdin", cmdline.MaxRecord(c),
		identity.Member, envelope.Member, request.Member)
	var value []byte
	return record.Stage(in, out, decision.Member, func(rec *record.Record) ([]byte, error) {
		if cmdline.Lone(c, rec) {
			return nil, record.ErrSkip
		}
		in, err := input(rec, p)
		if err != nil {
			return nil, err
		}
		d := decide(in)
		value = d.Append(value[:0])
		return value, nil
	})
}

// policyFor loads the policy. Only --unsafe-allow-all does without one.
func policyFor(c *cli.Context) (*policy.Policy, error) {
	if c.Bool("unsafe-allow-all") {
		return cmdline.PolicyOrDefault(c)
	}
	return cmdline.Policy(c)
}

func input(rec *record.Record, p *policy.Policy) (decision.Input, error) {
	in := decision.Input{Policy: p, World: workspace.World{}}
	if !rec.Has(identity.Member) {
		_, err := rec.Get(identity.Member)
		return in, fault.Failedf("pulse-fetch … | pulse-classify | pulse-authorize", "%w", err)
	}
	id, err := identity.Read(rec)
	in.Identity = &id
	if err == nil && rec.Has(request.Member) {
		err = rec.Decode(request.Member, func(v record.Value) error {
			r, err := request.Decode(v)
			in.Request = &r
			return err
		})
	}
	if err == nil && rec.Has(envelope.Member) {
		err = origin(rec, &in)
	}
	return in, err
}

// origin reads only those parts of the message that the policy uses, because reading all
// of it would be most of this stage's work.
func origin(rec *record.Record, in *decision.Input) (err error) {
	source, recipients := decision.Reads(in.Policy)
	if !source && !recipients {
		return nil
	}
	if !recipients {
		in.Source, err = envelope.SourceOf(rec)
		return err
	}
	var m envelope.Message
	err = m.Read(rec)
	in.Source, in.Recipients = m.Source, identity.Recipients(&m)
	return err
}
