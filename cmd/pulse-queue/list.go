package main

import (
	"cmp"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

func list(c *cli.Context, s door.Store) error {
	now := time.Now()
	f, err := newFilter(c, now)
	if err != nil {
		return err
	}
	f.whole = c.Bool("json")
	var p *policy.Policy
	if c.String("policy") != "" {
		if p, err = cmdline.Policy(c); err != nil {
			return err
		}
	}
	if _, err := door.Confine(c, s); err != nil {
		return err
	}
	wait, err := limiter(s, p, now)
	if err != nil {
		return err
	}
	cmdline.Streams()
	out := cmdline.Output(c)
	row := func(s *queue.Stored) error { return record.WriteLine(out, append(line(s), '\n')) }
	if !c.Bool("json") {
		row = f.rows(out, cmdline.Columns(c), now)
	}
	err = f.each(s, func(t *queue.Stored) error {
		if f.beside[t.Task.ID] && t.Task.State != task.Awaiting {
			return nil // the row of its message says so
		}
		wait(t)
		return cmp.Or(c.Context.Err(), row(t))
	})
	return errors.Join(err, out.Flush())
}

// limiter returns what says of a scheduled task which limit of a policy keeps it from starting, and
// until when. Without a policy nobody knows.
func limiter(s store.Store, p *policy.Policy, now time.Time) (wait func(*queue.Stored), err error) {
	if p == nil {
		return func(*queue.Stored) {}, nil
	}
	pace, err := store.Read(s, func(v store.View) (*queue.Pace, error) { return queue.PaceOf(v, p, now) })
	return func(t *queue.Stored) {
		if t.Task.State == task.Scheduled && t.Record != nil {
			t.Task.Limit, t.Task.Until = pace.Until(t)
		}
	}, err
}

// line returns the record of a task, or its `task` member alone if the file can't be read.
func line(s *queue.Stored) []byte {
	if s.Record != nil {
		return s.Line()
	}
	var o record.Object
	o.Raw(task.Member, s.Task.Append(nil))
	return o.Bytes()
}
