package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/audit"
	"pulse/lib/disk"
	"pulse/lib/escape"
	"pulse/lib/fault"
	"pulse/lib/journal"
)

// recover brings the directories up to the log. The exclusive lock is held, so
// whoever left the queue in between is dead.
func (s *Spool) recover() error {
	s.placed = nil // by a commit that failed
	if err := s.load(); err != nil {
		return err
	}
	behind, err := s.log.behind()
	if err != nil {
		return err
	}
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

// anew makes everything that is made from the log anew. The exclusive lock is held,
// and nothing has been written for what is staged.
func (s *Spool) anew() error {
	if err := s.forget(); err != nil {
		return err
	}
	return s.recover()
}

// load finds out how far the log was carried out.
func (s *Spool) load() error { return s.hint(s.log.load()) }

// hint says what to do about a broken log.
func (s *Spool) hint(err error) error {
	if errors.Is(err, journal.ErrBroken) {
		return fault.Failedf("pulse-queue verify --queue "+escape.Shell(s.dir), "%w", err)
	}
	return err
}

// replay carries out what the log holds after the checkpoint. It reads it twice: the
// last commit has to be durable before anything is changed for it. All others were
// carried out before the next one began, and only the indexes have to learn of them.
func (s *Spool) replay() error {
	// The command that died may not have come to its syncs; what is trusted from
	// here on has to be on the disk first.
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

// lastCommit makes the last commit durable, and returns it, and the size of what
// follows it. Where there is no checkpoint it writes the ids that were pruned.
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

// reindex brings the indexes and the counts up to the log, some lines at a time.
func (s *Spool) reindex() error {
	// What the checkpoint does not know of may be newer than the log.
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

// redone is how many lines are put into the indexes at a time; a variable for tests.
var redone = 4096

// forget removes the checkpoint, for what it vouches for is about to be written anew.
func (s *Spool) forget() error {
	if err := s.disk.Remove(checkpointFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.disk.SyncDir("")
}

// moveAside takes half a commit out of the end of the log and records that.
func (s *Spool) moveAside(torn int64) error {
	name := auditDir + "/" + s.log.Segment
	b := make([]byte, torn)
	if _, err := s.disk.ReadAt(name, s.log.Size, b); err != nil {
		return err
	}
	now := time.Now()
	if err := writeSynced(s.disk, fmt.Sprintf("%s/torn-%d", auditDir, now.UnixNano()), b); err != nil {
		return err
	}
	if err := s.disk.Truncate(name, s.log.Size); err != nil {
		return err
	}
	return s.log.Append([]audit.Line{{Time: now, Event: audit.Repaired}})
}

// sweep removes what a command that died left in tmp.
func (s *Spool) sweep() error {
	names, err := disk.List(s.disk, tmpDir)
	for _, n := range names {
		// A directory is none of ours, and in nobody's way.
		if e := s.disk.Remove(tmpDir + "/" + n); e != nil && !errors.Is(e, fs.ErrNotExist) && !errors.Is(e, unix.EISDIR) {
			err = errors.Join(err, e)
		}
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
