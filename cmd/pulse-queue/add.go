package main

import (
	"bufio"
	"errors"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/cmd/pulse-queue/dispatch"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/sandbox"
)

// linger is how long add waits for more input before it commits what it has, in
// milliseconds: a batch costs the same syncs as one record.
const linger = 50

func add(c *cli.Context, s door.Store) error {
	p, err := cmdline.PolicyOrDefault(c)
	if err != nil {
		return err
	}
	n, err := dispatch.NewNotice(c)
	if err != nil {
		return err
	}
	s.OnCommit(n.Hear)
	defer n.Send()
	disk := memoryOf(c, "disk")
	defer disk.Close()
	keep, err := newKeeping(c, s, p)
	if err != nil {
		return err
	}
	level, err := confineAdd(c, s)
	if err != nil {
		return err
	}
	batch := queue.NewBatch(s, s.TakesUnsafe(), p.Limits.PendingPerSender, time.Now)
	batch.Sandbox, batch.Open = level.String(), true
	batch.Require = approval.Level(p.Approval.Require)
	in := &intake{
		batch: batch,
		out:   bufio.NewWriterSize(c.App.Writer, 64<<10),
		room:  func() error { return roomFor(s, p, disk) },
		keep:  keep,
	}
	if keep.named { // without a policy nobody said how long a task may wait
		err := queue.InTurns(s, func(tx *queue.Tx) (bool, error) { return queue.Resurface(tx, &p.Limits, time.Now()) })
		if err := in.unlessIdle(err); err != nil {
			return err
		}
	}
	stdin := cmdline.Stdin(c, linger, in.commit)
	in.lone = func(rec *record.Record) bool { return cmdline.Lone(c, rec) }
	return in.all(record.NewReader(stdin, "stdin", cmdline.MaxRecord(c), queue.Members...))
}

// roomFor fails if the disk has too little room for records. It is told once, as a finding of health
// or, where the disk has no room for that, by what is remembered beside the queue.
func roomFor(s door.Store, p *policy.Policy, disk memory) error {
	room := s.Room(p.Limits.DiskReserve)
	if room == nil {
		disk.over()
		return nil
	}
	now := time.Now()
	say, err := noteFull(s, room, now)
	if err != nil {
		say = disk.Begins("", room.Error(), now)
	}
	return noted{room, say}
}

// confineAdd gives up all but the queue. With --notify it gives up nothing, because a
// program is to be started in the end.
func confineAdd(c *cli.Context, s door.Store) (sandbox.Level, error) {
	if c.String("notify") != "" {
		return sandbox.Level{}, cmdline.Unconfined(c, "--notify starts a program")
	}
	return door.Confine(c, s)
}

// intake commits one batch of records while it reads the next.
type intake struct {
	batch *queue.Batch
	out   *bufio.Writer
	room  func() error
	keep  *keeping
	under chan error // gets the end of the commit under way; nil: none

	failed   bool // a commit failed, and no other is tried
	hindered bool // something besides the records failed, and there were none

	lone func(*record.Record) bool // holds nothing but its task, and is left out
}

// all commits all records, or those before a bad one. Only at the end of the input do the
// positions of its sources move.
func (in *intake) all(r *record.Reader) error {
	for {
		rec, err := r.Next()
		if err == nil && in.lone(rec) {
			continue
		}
		if err == nil && in.batch.Full() { // and not at its last record, whose commit moves the positions, too
			if err := in.begin(); err != nil {
				return err
			}
		}
		if err == nil {
			err = in.batch.Put(rec)
		}
		if errors.Is(err, io.EOF) {
			in.batch.Open = false
			if err := in.commit(); err != nil || !in.hindered {
				return err
			}
			return errHindered
		}
		if errors.Is(err, queue.ErrOrder) {
			in.batch.Take() // nothing of what is out of order is added
			return errors.Join(err, in.end())
		}
		if err != nil {
			if in.failed {
				return err
			}
			return errors.Join(err, in.commit())
		}
	}
}

// unlessIdle returns an error of what add does besides its records, unless it may end later: cron
// runs add each minute, and mails nobody that a full disk has no room for nothing. If there are
// records, they fail.
func (in *intake) unlessIdle(err error) error {
	if err != nil && fault.KindOf(err) == fault.Temporary {
		in.hindered = true
		return nil
	}
	return err
}

// commit commits what was read so far, and waits until the receipts are printed.
func (in *intake) commit() error {
	if err := in.begin(); err != nil {
		return err
	}
	return in.end()
}

// begin starts to commit what was read, once the commit before it has ended.
func (in *intake) begin() error {
	if err := in.end(); err != nil {
		return err
	}
	full, under := in.batch.Take(), make(chan error, 1)
	in.under = under
	go func() { under <- in.take(full) }()
	return nil
}

// end waits for the commit under way.
func (in *intake) end() error {
	if in.under == nil {
		return nil
	}
	err := <-in.under
	in.under, in.failed = nil, err != nil
	return err
}

func (in *intake) take(batch *queue.Batch) error {
	if batch.Idle() {
		return in.unlessIdle(in.keep.forget(time.Now()))
	}
	if err := in.room(); err != nil {
		return err
	}
	if err := in.keep.forget(time.Now()); err != nil {
		return err
	}
	in.keep.ask(batch)
	err := batch.Commit(func(line []byte) error { return record.WriteLine(in.out, append(line, '\n')) })
	return errors.Join(err, in.out.Flush())
}
