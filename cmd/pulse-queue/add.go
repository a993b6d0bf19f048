package main

import (
	"bufio"
	"errors"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/cmdline"
	"pulse/lib/fault"
	"pulse/lib/queue"
	"pulse/lib/record"
	"pulse/lib/spool"
)

// linger is how long add waits for more input before it commits what it has, in
// milliseconds: a batch costs the same syncs as one record.
const linger = 50

func initQueue(c *cli.Context) error {
	dir, err := cmdline.QueueDir(c)
	if err != nil {
		return err
	}
	if err := spool.Create(dir, spool.Options{Unsafe: c.Bool("unsafe"), Network: c.Bool("allow-network")}); err != nil {
		return err
	}
	s, err := spool.Open(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	if c.Bool("unsafe") && !s.Unsafe {
		return fault.Usagef("name a new directory", "--unsafe: %s is a queue already, and not for trials", dir)
	}
	return nil
}

func add(c *cli.Context) error {
	p, err := cmdline.PolicyOrDefault(c)
	if err != nil {
		return err
	}
	s, err := cmdline.QueueOrNew(c)
	if err != nil {
		return err
	}
	defer s.Close()
	out := bufio.NewWriterSize(c.App.Writer, 64<<10)
	batch := queue.NewBatch(s, s.Unsafe, p.Limits.PendingPerSender, time.Now)
	commit := func() error {
		if err := s.Room(p.Limits.DiskReserve); err != nil {
			return err
		}
		err := batch.Commit(func(line []byte) error { return record.WriteLine(out, append(line, '\n')) })
		return errors.Join(err, out.Flush())
	}
	in := record.NewReader(cmdline.Stdin(c, linger, commit), "stdin", cmdline.MaxRecord(c), queue.Members...)
	return addAll(in, batch, commit)
}

// addAll takes all records. What stood before a bad one is taken.
func addAll(in *record.Reader, batch *queue.Batch, commit func() error) error {
	for {
		rec, err := in.Next()
		if err == nil {
			err = batch.Put(rec)
		}
		if errors.Is(err, io.EOF) {
			return commit()
		}
		if err != nil {
			return errors.Join(err, commit())
		}
		if batch.Full() {
			if err := commit(); err != nil {
				return err
			}
		}
	}
}
