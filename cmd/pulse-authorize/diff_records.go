package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/compare"
	"pulse/lib/authorize/replay"
	"pulse/lib/authorize/workspace"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/sandbox"
	"pulse/lib/shared/task"
)

// diffRecords prints which records the two policies decide otherwise, in the order of the
// records: any number of them fit into the same memory.
func diffRecords(c *cli.Context, old, new *policy.Policy) error {
	in, name, err := openRecords(c)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	files := append(workspace.Named(old), workspace.Named(new)...)
	if _, err := cmdline.Confine(c, sandbox.Pipe(files...)); err != nil {
		return err
	}
	d := differ{Context: c, old: old, new: new, follower: compare.NewFollower(old, new), name: name, out: bufio.NewWriterSize(c.App.Writer, 64<<10)}
	err = cmdline.Each(c, record.NewReader(in, name, cmdline.MaxRecord(c), replay.Members...), d.one)
	if flushed := d.out.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		return err
	}
	return d.sum()
}

// openRecords opens the file of --records.
func openRecords(c *cli.Context) (in io.ReadCloser, name string, err error) {
	name = c.String("records")
	if name == "-" {
		return io.NopCloser(cmdline.Stdin(c, 0, func() error { return nil })), "stdin", nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, name, fault.Usagef("pulse-queue list --all --json > "+name, "--records: %w", err)
	}
	return f, name, nil
}

// differ compares what two policies make of records.
type differ struct {
	*cli.Context
	old, new *policy.Policy
	follower *compare.Follower
	name     string
	out      *bufio.Writer
	line     []byte

	read, wider, unknown int
	first                string         // of the unknown
	asks                 *policy.Policy // of the first unknown, the policy that asks for the check
}

// one compares the answers to one record.
func (d *differ) one(rec *record.Record) error {
	if cmdline.Lone(d.Context, rec) {
		return nil
	}
	c, err := replay.Read(rec)
	if errors.Is(err, record.ErrMissing) {
		return fault.Failedf("pulse-queue list --all --json | pulse-authorize diff OLD NEW --records -", "%w", err)
	}
	if err != nil {
		return err
	}
	d.read++
	x := replay.Difference{Old: c.Decide(d.old, workspace.World{}), New: c.Decide(d.new, workspace.World{})}
	if x.Old.Unknown || x.New.Unknown {
		if d.unknown++; d.unknown == 1 {
			d.first, d.asks = rec.Where(), d.old
			if x.New.Unknown {
				d.asks = d.new
			}
		}
		return nil
	}
	differs, err := x.Compare(d.follower)
	if err != nil {
		return fault.Failedf("make the lists of tools in both policies shorter",
			"%s: what its worker may do was not compared: %w", rec.Where(), err)
	}
	if !differs {
		return nil
	}
	if x.Direction == compare.Wider {
		d.wider++
	}
	if err := d.describe(&x, rec, c.Message); err != nil {
		return err
	}
	return d.print(&x)
}

// describe says which record it is.
func (d *differ) describe(x *replay.Difference, rec *record.Record, m *envelope.Message) (err error) {
	x.Where = rec.Where()
	if m != nil && m.UID != 0 {
		x.Where = fmt.Sprintf("%s/%d", m.Source, m.UID)
	}
	if x.Task, err = task.Named(rec); err != nil || m == nil || !d.Bool("subjects") {
		return err
	}
	return rec.Decode(envelope.Member, func(v record.Value) error {
		shown, err := envelope.Show(v)
		x.Subject = shown.Subject
		return err
	})
}

func (d *differ) print(x *replay.Difference) error {
	if d.Bool("json") {
		d.line = x.Append(d.line[:0])
	} else {
		d.line = append(d.line[:0], escape.Line(x.String())...)
	}
	d.line = append(d.line, '\n')
	return record.WriteLine(d.out, d.line)
}

// sum fails if anything goes further, or may.
func (d *differ) sum() (err error) {
	if d.read == 0 {
		return fault.Failedf("pulse-queue list --all --json | pulse-authorize diff OLD NEW --records -", "%s: no record: nothing was compared", d.name)
	}
	if d.unknown > 0 {
		err = fault.Failedf("pulse-fetch --policy "+d.asks.Name+" SOURCE | pulse-authorize diff OLD NEW --records -",
			"%d of %d records can't be compared, the first at %s: evidence = %q of %s asks for message.dkim, which they do not hold",
			d.unknown, d.read, d.first, d.asks.Evidence, d.asks.Name)
	}
	if d.wider > 0 {
		err = errors.Join(err,
			fault.Failedf("", "%d of %d records go further under %s than under %s", d.wider, d.read, d.new.Name, d.old.Name))
	}
	return err
}
