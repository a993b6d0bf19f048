package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/journal"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// recover brings the files up to the log. The caller has the exclusive lock, so a command
// that left the queue half changed is dead.
func (s *Spool) recover() error {
	s.found = nil // a commit that failed may have left it
	if err := s.load(); err != nil {
		return err
	}
	behind := s.log.behind()
	if s.snapshot {
		return s.whole(behind)
	}
	if behind {
		err := s.replay()
		if errors.Is(err, errShard) && !s.log.lost {
			return s.anew()
		}
		if err != nil {
			return err
		}
	}
	return s.sweep()
}

// anew rebuilds every file that is made from the log. The caller has the exclusive lock,
// and has written nothing for its commit yet.
func (s *Spool) anew() error {
	if err := s.forget(); err != nil {
		return err
	}
	return s.recover()
}

// load finds out how far the log was carried out.
func (s *Spool) load() error { return s.hint(s.log.load()) }

// hint adds to a broken log what to do about it.
func (s *Spool) hint(err error) error {
	if errors.Is(err, journal.ErrBroken) {
		return fault.Failedf("pulse-queue verify --queue "+escape.Shell(s.dir), "%w", err)
	}
	return err
}

// replay carries out the last commit of the log, and brings the indexes and the counts up
// to all lines after the checkpoint. It reads these twice, because the last commit has to
// be durable before anything is changed for it. All other commits were carried out before
// the next one began, so only the indexes have to learn of them.
func (s *Spool) replay() error {
	s.log.read = nil
	// The command that died may not have got as far as its syncs. What is trusted from here
	// on has to be on the disk first.
	if err := s.disk.SyncAll(); err != nil {
		return err
	}
	if s.log.lost {
		if err := s.forget(); err != nil {
			return err
		}
	}
	last, torn, err := s.lastCommit()
	if err != nil {
		return s.hint(err)
	}
	err = s.reindex()
	if err == nil {
		err = s.apply(last, false)
	}
	if err == nil {
		err = s.compact()
	}
	if err == nil {
		err = s.disk.SyncAll()
	}
	if err != nil {
		return err
	}
	s.log.lost = false
	if torn > 0 {
		if err := s.moveAside(torn); err != nil {
			return err
		}
	}
	return s.log.checkpoint()
}

// lastCommit makes the last commit durable, and returns it and the size of the torn commit
// that follows it, if any. Without a checkpoint it also writes the ids that were pruned.
func (s *Spool) lastCommit() (last []audit.Line, torn int64, err error) {
	ahead, pruned := s.log, shards{}
	torn, err = ahead.Read(func(l *audit.Line) error {
		if len(last) > 0 && !last[len(last)-1].More {
			last = last[:0]
		}
		last = append(last, *l)
		pruned.add(l)
		return nil
	})
	if err == nil {
		err = ahead.Rewrite()
	}
	if err == nil && s.log.lost {
		err = pruned.write(s.disk)
	}
	return last, torn, err
}

// reindex brings the indexes and the counts up to the log, redone lines at a time.
func (s *Spool) reindex() error {
	// Index lines that the checkpoint does not know may be newer than the log.
	if err := errors.Join(agenda.Cut(s.disk, s.log.agenda), starts.Cut(s.disk, s.log.starts)); err != nil {
		return err
	}
	var batch []audit.Line
	_, err := s.log.Read(func(l *audit.Line) (err error) {
		s.log.counts.Count(l)
		if batch = append(batch, *l); len(batch) == redone {
			err = s.index(batch)
			batch = batch[:0]
		}
		return err
	})
	if err == nil {
		err = s.index(batch)
	}
	return err
}

// redone is how many lines are put into the indexes at a time; replaced in tests.
var redone = 4096

// forget removes the checkpoint, because a file that it vouches for is about to be
// rebuilt.
func (s *Spool) forget() error {
	if err := s.disk.Remove(checkpointFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.disk.SyncDir("")
}

// moveAside moves half a commit from the end of the log to a file of its own, and logs
// that.
func (s *Spool) moveAside(torn int64) error {
	name := auditDir + "/" + s.log.Segment
	b := make([]byte, torn)
	if _, err := s.disk.ReadAt(name, s.log.Size, b); err != nil {
		return err
	}
	now := s.clock()
	aside := fmt.Sprintf("%s/torn-%d", auditDir, now.UnixNano())
	if err := writeSynced(s.disk, aside, b); err != nil {
		return err
	}
	if err := s.disk.Truncate(name, s.log.Size); err != nil {
		return err
	}
	// Whether this clock is right is not known here, so the line has the time of the one before it.
	err := s.log.Back(func(l audit.Line) bool {
		now = l.Time
		return false
	})
	if err != nil {
		return err
	}
	return s.log.Append([]audit.Line{{Time: now, Event: audit.Repaired}}, true)
}

// sweep removes the files that a command that died left in tmp.
func (s *Spool) sweep() error {
	names, err := disk.List(s.disk, tmpDir)
	for _, n := range names {
		e := s.disk.Remove(tmpDir + "/" + n)
		if errors.Is(e, fs.ErrNotExist) || errors.Is(e, unix.EISDIR) {
			continue // no command makes a directory there, and it does not disturb
		}
		err = errors.Join(err, e)
	}
	return err
}

// parentOf returns the directory of a file; "" is the queue itself.
func parentOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}
