package main

import (
	"errors"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/aside"
	"pulse/lib/queue/door"
	"pulse/lib/queue/finding"
	"pulse/lib/queue/health"
	"pulse/lib/queue/seen"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/sandbox"
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

// passing reports whether an error may end by itself.
func passing(c *cli.Context, err error) bool {
	stopped := c.Context != nil && c.Context.Err() != nil
	return !stopped && !cmdline.Silent(err) && fault.KindOf(err) == fault.Temporary
}

// standing returns an error that may end by itself as one that is shown only if a person is to be
// told of it now. One after the other counts as the same, except that a queue lacks a line or the
// kernel lacks a sandbox, which are news if it is another line, or another thing.
func (m memory) standing(err error) error {
	about := ""
	switch {
	case errors.Is(err, queue.ErrLost):
		about = store.FindingKey(string(health.Restored), err.Error())
	case errors.Is(err, sandbox.ErrLacks):
		about = store.FindingKey("sandbox", err.Error())
	}
	if m.Begins(about, err.Error(), time.Now()) {
		return err
	}
	return cmdline.Standing(m.c, err)
}

// over says what ended, if a person was told of it. That a queue lacks a line, or the kernel a sandbox,
// is ended by a person, who knows.
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

// quiet makes an action one that remembers. What its disk refuses is another matter than a lock that is
// held or a server that is away. Only commands that can write say that either has ended.
func quiet(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		m, storage := memoryOf(c, "queue"), memoryOf(c, "storage")
		defer m.Close()
		defer storage.Close()
		err := action(c)
		var n noted
		var refused syscall.Errno
		switch {
		case err == nil && (c.Command.Name == "add" || c.Command.Name == "run"):
			m.over()
			storage.over()
			return nil
		case err == nil, errors.Is(err, errHindered):
			return nil
		case errors.As(err, &n) && n.told, !passing(c, err):
			return err
		case n.error != nil:
			return cmdline.Standing(c, err)
		case errors.As(err, &refused) && slices.Contains(ofDisks, refused):
			return storage.standing(err)
		}
		return m.standing(err)
	}
}

// ofDisks are the errors by which a file system refuses.
var ofDisks = []syscall.Errno{syscall.EIO, syscall.EROFS, syscall.EDQUOT, syscall.ENOSPC}

// noteFull has the queue remember that too little of its disk is free, as health does. It fails if
// there is no room for that either.
func noteFull(s door.Store, room error, now time.Time) (say bool, err error) {
	f := audit.Finding{Code: string(health.DiskLow), Text: room.Error()}
	known, err := store.Read(s, func(v store.View) (bool, error) { return finding.Quiet(v, f.Code, f.About, now) })
	if known || err != nil {
		return false, err
	}
	if err := roomToNote(s); err != nil {
		return false, err
	}
	err = queue.Update(s, func(tx *queue.Tx) (err error) {
		say, err = finding.Open(tx, &f, now)
		return err
	})
	return say, err
}
