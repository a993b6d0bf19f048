// Package snapshot copies a queue, as it is at one moment, to a directory that nobody
// changes and that the queue's workers may read (pulse-queue(5)).
//
// Invariants: what stands under the name of a snapshot is whole, and is replaced in one
// step. A directory is marked before anything else lies in it, so that no command takes
// a copy for a queue. The queue goes on meanwhile: it stands still for the last step at
// most, which copies only what changed during the others.
//
// Caveat: where the queue and the snapshot share a file system, files are linked first.
// So a file that is linked must be one that is never written in place.
package snapshot

import (
	"fmt"
	"path/filepath"
	"time"

	"pulse/lib/queue/access"
	"pulse/lib/queue/disk"
	"pulse/lib/queue/journal"
	"pulse/lib/shared/fault"
)

// Queue is a queue to copy.
type Queue struct {
	Path   string // of the directory
	Access *access.Dir
	Disk   disk.Disk // the directory again
	Layout *Layout
	Source Source
	Wait   time.Duration // how long another command that makes a snapshot there is waited for
}

// Layout is what package snapshot has to know of a queue's files, apart from its log.
// What is not named here is not copied.
type Layout struct {
	Files []string // in the queue's own directory
	Dirs  []string // of files that are never written in place
	Grown []string // directories of files that are written in place

	Of   func(task string) []string          // names in Dirs and Grown of all that changes when a task moves
	Fits func(name string, size int64) error // fails if a file is larger than any of that name
}

// Source tells what moves in a queue while it is copied. A Mark is a place in its log.
type Source interface {
	// Settle waits until no transition is under way, and returns where the log ends.
	Settle() (journal.Mark, error)

	// Moved returns the tasks that moved between two places in the log. Layout.Of makes
	// names of them, so they must be ids.
	Moved(from, to journal.Mark) (tasks map[string]bool, err error)

	// Still runs fn, which is told where the log ends. It runs fn again if something
	// was committed meanwhile.
	Still(fn func(end journal.Mark) error) error
}

// CopyTo copies the queue to dir. What stands at dir is replaced in one step, and only if
// it is an earlier snapshot. On an error dir is as it was. The error is disk.ErrLocked if
// another command makes a snapshot there for longer than Wait.
func (q *Queue) CopyTo(dir string) error {
	parent, base, err := q.apart(dir)
	if err != nil {
		return err
	}
	if err := replaceable(dir); err != nil {
		return err
	}
	groups, err := q.Access.Groups()
	if err != nil {
		return err
	}
	tmp, err := disk.NewReplacement(parent, "."+base+".snapshot-", q.Wait)
	if err != nil {
		return err
	}
	defer tmp.Remove()
	if err := hand(tmp, groups.Workers); err != nil {
		return err
	}
	c := copier{q, tmp.Path, make([]byte, chunk)}
	if err = c.collect(); err == nil {
		err = c.copyLinked()
	}
	if err == nil {
		err = tmp.Seal(dirMode)
	}
	if err == nil {
		err = tmp.Swap(filepath.Join(parent, base), replaceable)
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// hand makes all that will lie in a snapshot its readers'.
func hand(tmp *disk.Replacement, g access.Group) error {
	if g.Name == "" {
		return nil
	}
	if err := tmp.HandTo(g.ID); err != nil {
		return fault.Usagef("usermod -aG "+g.Name+" USER, and log in again (or run this as the queue's owner)", "the snapshot is for the group %s: %w", g.Name, err)
	}
	return nil
}

// copier copies a queue to an empty directory.
type copier struct {
	*Queue
	root string
	buf  []byte
}

// collect copies the queue as it is at one moment. Nobody waits for more than the last
// step, which has little left to do.
func (c *copier) collect() error {
	from, err := c.Source.Settle()
	if err != nil {
		return err
	}
	if err := c.gather(); err != nil {
		return err
	}
	now, err := c.Source.Settle()
	if err != nil {
		return err
	}
	if err := c.follow(from, now); err != nil {
		return err
	}
	if err := c.Source.Still(func(end journal.Mark) error { return c.follow(now, end) }); err != nil {
		return err
	}
	return c.sealLog()
}
