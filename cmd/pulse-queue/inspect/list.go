// Package inspect shows people what is in a queue: the tasks of list, the story of one, the
// conversation that one belongs to, and the log.
//
// Invariant: it changes nothing, and every line is safe to print (package escape), except those
// of --json, which are the records and the log as they are. Caveat: Confine comes before the
// first byte that a stranger wrote is read, so whatever a confined command can't find out is
// found out before.
package inspect

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

// List prints the tasks that wait or run, or those that the flags admit.
func List(c *cli.Context, s door.Store) error {
	now := time.Now()
	f, err := newFilter(c, now)
	if err != nil {
		return err
	}
	var p *policy.Policy
	if c.String("policy") != "" {
		if p, err = cmdline.Policy(c); err != nil {
			return err
		}
	}
	if _, err := door.Confine(c, s); err != nil {
		return err
	}
	var pace *queue.Pace // nil: without a policy nobody knows which limit keeps a task from starting
	if p != nil {
		if pace, err = store.Read(s, func(v store.View) (*queue.Pace, error) { return queue.PaceOf(v, p, now) }); err != nil {
			return err
		}
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
		if pace != nil && t.Task.State == task.Scheduled && t.Record != nil {
			t.Task.Limit, t.Task.Until = pace.Until(t)
		}
		return cmp.Or(c.Context.Err(), row(t))
	})
	return errors.Join(err, out.Flush())
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
