package spool

import (
	"errors"
	"io/fs"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/journal"
	"pulse/lib/queue/snapshot"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// Writable returns nil unless this is a snapshot.
func (s *Spool) Writable() error {
	if !s.snapshot {
		return nil
	}
	return fault.Usagef("name the queue it was made of", "%s is a snapshot: it can only be read", s.dir)
}

// whole returns nil unless a snapshot needs the repair that a queue would get. A snapshot
// is made without a fault, so it was changed since.
func (s *Spool) whole(behind bool) error {
	if !behind {
		return nil
	}
	return fault.Failedf("make it anew: pulse-queue snapshot "+s.dir,
		"%s: the snapshot was changed, or made by an older pulse: log and checkpoint don't agree", s.dir)
}

// onlyRead marks s as a snapshot. A snapshot does not change, but it may be replaced, and
// is then removed unless a reader has pinned it.
func (s *Spool) onlyRead() error {
	if d, ok := s.disk.(*disk.Dir); ok {
		if err := d.Pin(lockTimeout); err != nil {
			return tooLong(err)
		}
		if _, err := d.Stat(snapshot.MarkerFile); err != nil {
			return fault.Temporaryf("run it again", "the snapshot was replaced meanwhile")
		}
	}
	s.snapshot = true
	return nil
}

// Snapshot copies the queue to dir, as it is at one moment. What stands at dir is replaced
// in one step, and only if it is an earlier snapshot. On an error dir is as it was.
func (s *Spool) Snapshot(dir string) error {
	q := snapshot.Queue{
		Path: s.dir, Access: s.access, Disk: s.disk, Layout: &copied, Source: source{s}, Wait: lockTimeout,
	}
	err := q.CopyTo(dir)
	if path := (*fs.PathError)(nil); errors.Is(err, disk.ErrLocked) && errors.As(err, &path) {
		return &fs.PathError{Op: path.Op, Path: path.Path, Err: errTooLong()}
	}
	return err
}

// copied lists what a snapshot has. It leaves out approvals, grants, sessions, positions,
// locks and workers, so that a snapshot gives no account the means to do anything.
var copied = snapshot.Layout{
	Files: []string{formatFile, unsafeFile, networkFile, holdFile, clockFile, checkpointFile, agendaFile, startsFile},
	Dirs:  append([]string{metaDir, resultDir}, stateDirs()...),
	Grown: []string{prunedDir},
	Of:    copiedOf,
	Fits:  copiedFits,
}

// copiedOf returns the files in a snapshot that change when a task moves.
func copiedOf(id string) []string {
	names := []string{fileOf(store.Meta, id), fileOf(store.Results, id), fileOf(store.Pruned, id), fileOf(store.Labels, id), fileOf(store.Extracts, id)}
	for _, st := range task.States {
		names = append(names, taskFile(st, id))
	}
	return names
}

// copiedFits bounds the files of a snapshot like those of the queue, except the files that
// grow with every task.
func copiedFits(name string, size int64) error {
	if parentOf(name) == prunedDir || name == agendaFile {
		return nil
	}
	return diskOptions.Fits(name, size)
}

// source is the queue as package snapshot sees it.
type source struct{ s *Spool }

// Settle implements snapshot.Source.
func (c source) Settle() (journal.Mark, error) {
	err := c.s.settle()
	return c.s.log.Mark, err
}

// Moved implements snapshot.Source. A forged line may name anything, and what moved is
// removed from the copy before it is copied again: its id must not lead out of there.
func (c source) Moved(from, to journal.Mark) (tasks map[string]bool, err error) {
	tasks = map[string]bool{}
	err = c.s.between(mark{Mark: from}, mark{Mark: to}, func(l *audit.Line) error {
		if l.Touches() && task.ValidID(l.Task) {
			tasks[l.Task] = true
		}
		if task.ValidID(l.KnownAs) {
			tasks[l.KnownAs] = true // it has a line in a file of its own
		}
		return nil
	})
	return tasks, err
}

// Still implements snapshot.Source.
func (c source) Still(fn func(end journal.Mark) error) error {
	return c.s.View(func(store.View) error { return fn(c.s.log.Mark) })
}
