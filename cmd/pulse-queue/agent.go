package main

import (
	"errors"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/agent"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

// maxAsk bounds the record that a worker is given, in bytes.
const maxAsk = 16 << 20

// runAgent is the worker, or with --reader the reader, that asks a model by way of a client.
func runAgent(c *cli.Context) error {
	line, err := io.ReadAll(io.LimitReader(cmdline.Stdin(c, 0, func() error { return nil }), maxAsk+1))
	if err != nil || len(line) > maxAsk {
		return errors.Join(fault.Usagef("", "the record is too long, or can not be read"), err)
	}
	w := agent.Worker{Client: c.Args().First(), Args: c.Args().Tail(), Judge: os.Getenv("PULSE_JUDGE")}
	do := w.Run
	if c.Bool("reader") {
		do = w.Read
	}
	out, err := do(c.Context, line)
	if err != nil {
		return err
	}
	_, err = c.App.Writer.Write(out)
	return err
}
