// Pulse-classify says who sent each message and how far that is proven. See
// pulse-classify(1).
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"pulse/lib/classify/identity"
	"pulse/lib/queue/peek"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
	"pulse/lib/shared/sandbox"
)

func main() { os.Exit(cmdline.Main(app())) }

func app() *cli.App {
	maxRecord, confined := cmdline.MaxRecordFlag(), cmdline.SandboxFlag()
	return &cli.App{
		Name:  "pulse-classify",
		Usage: "Say who sent each message, and how far that is proven.",
		Flags: []cli.Flag{cmdline.PolicyFlag(), cmdline.QueueFlag(), maxRecord, confined}, Action: run,
		Metadata: cmdline.Idles(""),
		Commands: []*cli.Command{{
			Name: "suggest", Usage: "say which policy fits mail that has come", Action: suggestPolicy,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "owner", Usage: "`ADDR` your address: judge dkim_alignment by mail from there"},
				maxRecord, confined,
			},
		}},
	}
}

func run(c *cli.Context) error {
	p, err := cmdline.Policy(c)
	if err != nil {
		return err
	}
	sessions, err := live(c)
	if err != nil {
		return err
	}
	if cmdline.Nothing(c) {
		return nil
	}
	if _, err := cmdline.Confine(c, sandbox.Pipe()); err != nil {
		return err
	}
	cmdline.Streams()
	out := bufio.NewWriterSize(c.App.Writer, 64<<10)
	in := record.NewReader(cmdline.Stdin(c, 0, out.Flush), "stdin", cmdline.MaxRecord(c), identity.OriginMembers...)
	var origin identity.Origin
	var value []byte
	return record.Stage(in, out, identity.Member, func(rec *record.Record) ([]byte, error) {
		if cmdline.Lone(c, rec) {
			return nil, record.ErrSkip
		}
		if err := origin.Read(rec); err != nil {
			return nil, withoutMessage(err)
		}
		id := origin.Classify(p, sessions...)
		if id.Reason == identity.EvidenceMissing && origin.Message != nil {
			return nil, rec.Bad(unchecked(&id, p.Name))
		}
		value = id.Append(value[:0])
		return value, nil
	})
}

// withoutMessage adds to the error of a record without a message where messages come from.
func withoutMessage(err error) error {
	if errors.Is(err, record.ErrMissing) {
		return fault.Failedf("pulse-fetch SOURCE | pulse-classify", "%w", err)
	}
	return err
}

// unchecked refuses mail that nobody can be proven to have sent only because pulse-fetch
// was not told what the policy needs. Going on would reject it in silence.
func unchecked(id *identity.Identity, policy string) error {
	return fault.Usagef("pulse-fetch --policy "+policy+" SOURCE | pulse-classify --policy "+policy, "%s", id.Why)
}

// live returns the sessions of the queue, if one is named. They are read once, before the
// input, because a confined process can't open the queue.
func live(c *cli.Context) ([]approval.Session, error) {
	if c.String("queue") == "" {
		return nil, nil
	}
	list, err := peek.Sessions(c.Context, c.String("queue"))
	switch {
	case err == nil:
		return list, nil
	case errors.Is(err, peek.ErrTold):
		return nil, cmdline.Standing(c, err)
	}
	return nil, fmt.Errorf("--queue: %w", err)
}
