package spool

import (
	"errors"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/journal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// Update runs fn under the exclusive lock, and then carries out the commit that fn
// returns: all of it, durably, or nothing if fn or the commit fails.
func (s *Spool) Update(fn func(store.View) (*store.Commit, error)) error {
	if err := s.Writable(); err != nil {
		return err
	}
	unlock, err := s.lock.take()
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.recover(); err != nil {
		return err
	}
	c, err := fn(view{s, true, nil})
	if err != nil {
		return err
	}
	return s.commit(c)
}

// commit carries a commit out. New files go to tmp, then the lines to the log, which is
// the point of no return, and then the files change. A checkpoint ends it.
func (s *Spool) commit(c *store.Commit) error {
	if len(c.Lines) == 0 && c.Unlisted == 0 {
		return nil
	}
	s.log.read = nil // what is here is ahead of the checkpoint
	if len(c.Lines) > 0 {
		if err := s.append(c); err != nil {
			return err
		}
		for i := range c.Lines {
			s.log.counts.Count(&c.Lines[i])
		}
		if err := s.apply(c.Lines, true); err != nil {
			return err
		}
		s.memory.Note(c.Lines, s.last())
		s.tell(c.Lines)
	}
	s.log.counts.Refused += c.Unlisted
	if err := s.compact(); err != nil {
		return err
	}
	return s.log.checkpoint()
}

// append makes the staged files and the lines durable. If it fails, nothing has changed,
// unless the log could not be cut back.
func (s *Spool) append(c *store.Commit) error {
	if err := s.agree(c.Lines); err != nil {
		return err
	}
	files := make([]disk.File, len(c.Blobs))
	for i := range c.Blobs {
		b := &c.Blobs[i]
		files[i] = disk.File{Name: stagedFile(b.Shelf, b.Key), Data: b.Bytes, Mtime: b.Made}
	}
	err := s.stage(files)
	if err == nil {
		err = s.log.Append(c.Lines, c.Unsure)
	}
	if err != nil && !errors.Is(err, journal.ErrUncut) { // uncut, the lines may come back, and need the files
		for _, f := range files {
			_ = s.disk.Remove(f.Name) // if that fails, the next command removes it
		}
	}
	return err
}

// stage writes new files, durably.
func (s *Spool) stage(files []disk.File) error {
	if len(files) == 0 {
		return nil
	}
	if err := s.disk.WriteAll(files); err != nil {
		return err
	}
	if len(files) >= disk.Many {
		return s.disk.SyncAll()
	}
	names := make([]string, len(files))
	for i := range files {
		names[i] = files[i].Name
	}
	return s.disk.Sync(names, []string{tmpDir})
}

// tell calls committed, if it is set, with each line that was committed.
func (s *Spool) tell(lines []audit.Line) {
	for i := range lines {
		if s.committed != nil {
			s.committed(&lines[i])
		}
	}
}

// apply changes the files as lines of the log say, durably. fresh says that this command
// wrote the lines; otherwise a command that died did, and each step may have been taken
// already. Then the indexes are not touched here: reindex has done that.
func (s *Spool) apply(lines []audit.Line, fresh bool) error {
	c := newCarrier(s.disk, fresh)
	for i := range lines {
		for _, change := range store.Changes(&lines[i]) {
			if err := c.change(&change); err != nil {
				return err
			}
		}
	}
	if err := c.takeOut(); err != nil {
		return err
	}
	if fresh {
		if err := s.index(lines); err != nil {
			return err
		}
		c.unsynced = append(c.unsynced, indexed(lines)...)
	}
	return c.sync()
}

// index adds to the agenda and the starts lines that these do not know yet.
func (s *Spool) index(lines []audit.Line) error {
	if err := s.indexOpen(lines); err != nil {
		return err
	}
	return s.indexStarts(lines)
}

// indexed returns the index files that lines change.
func indexed(lines []audit.Line) (files []string) {
	moves, starts := false, false
	for i := range lines {
		moves = moves || lines[i].Moves() || lines[i].Event == audit.Resurfaced
		starts = starts || lines[i].Event == task.Started || lines[i].Event == audit.ClockJumped
	}
	if moves {
		files = append(files, agendaFile)
	}
	if starts {
		files = append(files, startsFile)
	}
	return files
}
