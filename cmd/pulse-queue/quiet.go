package main

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/aside"
	"pulse/lib/queue/door"
	"pulse/lib/queue/health"
	"pulse/lib/queue/seen"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

// What cron starts each minute tells of a failure that may end by itself when it begins, once a
// day while it lasts, and when it ends. The queue remembers that where it can, and what is beside
// it (package aside) where not. The exit status is 75 each time.

// memory is what this account remembers of a matter of the queue that the command line names.
type memory struct {
	*aside.Memory
	c *cli.Context
}

func memoryOf(c *cli.Context, matter string) memory {
	name := c.String("queue")
	if path, err := filepath.Abs(name); err == nil && !cmdline.Served(name) {
		name = path
	}
	return memory{aside.Open(seen.Dir(), name, matter), c}
}

// standing returns an error that may end by itself as one that is shown only if a person is to be
// told of it now. Others are returned as they are. One after the other counts as the same, except
// that a queue lacks a line, which is news if it is another line.
func (m memory) standing(err error) error {
	stopped := m.c.Context != nil && m.c.Context.Err() != nil
	if stopped || cmdline.Silent(err) || fault.KindOf(err) != fault.Temporary {
		return err
	}
	about := ""
	if errors.Is(err, queue.ErrLost) {
		about = queue.FindingKey(string(health.Restored), err.Error())
	}
	if m.Begins(about, err.Error(), time.Now()) {
		return err
	}
	return cmdline.Standing(m.c, err)
}

// over says what ended, if a person was told of it. That a queue lacks a line is ended by a person,
// who knows.
func (m memory) over() {
	if f, say := m.Ends(time.Now()); say && f.About == "" {
		cmdline.Note(m.c, "ended: %s", f.Text)
	}
}

// errHindered ends a command that had nothing to do, and could not have done it: it is 0, and says
// nothing about whether what was wrong has ended.
var errHindered = errors.New("nothing to do, and no way to do it")

// noted is an error that is remembered as a finding.
type noted struct {
	error
	told bool // a person is to be told now
}

func (n noted) Unwrap() error { return n.error }

// quiet makes an action one that remembers.
func quiet(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		m := memoryOf(c, "queue")
		defer m.Close()
		err := action(c)
		var n noted
		switch {
		case err == nil:
			m.over()
			return nil
		case errors.Is(err, errHindered):
			return nil
		case !errors.As(err, &n):
			return m.standing(err)
		case n.told:
			return err
		}
		return cmdline.Standing(c, err)
	}
}

// noteFull has the queue remember that too little of its disk is free, as health does. It fails if
// there is no room for that either.
func noteFull(s door.Store, room error, now time.Time) (say bool, err error) {
	f := audit.Finding{Code: string(health.DiskLow), Text: room.Error()}
	known := false
	err = s.View(func(v queue.View) (err error) {
		known, err = queue.Quiet(v, f.Code, f.About, now)
		return err
	})
	if known || err != nil {
		return false, err
	}
	if err := roomToNote(s); err != nil {
		return false, err
	}
	err = queue.Update(s, func(tx *queue.Tx) (err error) {
		say, err = queue.Open(tx, &f, now)
		return err
	})
	return say, err
}
