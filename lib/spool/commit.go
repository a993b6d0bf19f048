package spool

import (
	"errors"

	"pulse/lib/audit"
	"pulse/lib/disk"
	"pulse/lib/journal"
	"pulse/lib/queue"
	"pulse/lib/task"
)

// Update runs fn under the exclusive lock and then carries out what it returns: all
// of it, durably, or nothing if fn or the commit fails.
func (s *Spool) Update(fn func(queue.View) (*queue.Commit, error)) error {
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
	c, err := fn(view{s, true})
	if err != nil {
		return err
	}
	return s.commit(c)
}

// commit carries a commit out: new files to tmp, the lines to the log, which is the
// point of no return, and then what they change. A checkpoint ends it.
func (s *Spool) commit(c *queue.Commit) error {
	if len(c.Lines) == 0 && c.Unlisted == 0 {
		return nil
	}
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
		s.note(c.Lines)
		s.tell(c.Lines)
	}
	s.log.counts.Refused += c.Unlisted
	if err := s.compact(); err != nil {
		return err
	}
	return s.log.checkpoint()
}

// append makes what is staged and the lines durable. If that fails nothing has
// changed, unless the log could not be cut back.
func (s *Spool) append(c *queue.Commit) error {
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
		err = s.log.Append(c.Lines)
	}
	if err != nil && !errors.Is(err, journal.ErrUncut) { // else the lines may come back, and need the files
		for _, f := range files {
			_ = s.disk.Remove(f.Name) // or the next command does
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
	for _, f := range files {
		if err := s.disk.SyncFile(f.Name); err != nil {
			return err
		}
	}
	return s.disk.SyncDir(tmpDir)
}

// tell tells what was committed.
func (s *Spool) tell(lines []audit.Line) {
	for i := range lines {
		if s.committed != nil {
			s.committed(&lines[i])
		}
	}
}

// apply makes the files say what lines of the log say, durably. fresh says that this
// command wrote the lines; otherwise one that died did, and each step may have been
// taken already.
func (s *Spool) apply(lines []audit.Line, fresh bool) error {
	c := newCarrier(s.disk, fresh)
	for i := range lines {
		for _, change := range queue.Changes(&lines[i]) {
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
		c.wet = append(c.wet, indexed(lines)...)
	}
	return c.sync()
}

// index brings the agenda and the starts up to lines that they do not know yet.
func (s *Spool) index(lines []audit.Line) error {
	if err := s.schedule(lines); err != nil {
		return err
	}
	return s.noteStarts(lines)
}

// indexed returns which of them lines change.
func indexed(lines []audit.Line) (files []string) {
	moves, starts := false, false
	for i := range lines {
		moves = moves || lines[i].Moves()
		starts = starts || lines[i].Event == task.Started || lines[i].Event == audit.ClockBack
	}
	if moves {
		files = append(files, agendaFile)
	}
	if starts {
		files = append(files, startsFile)
	}
	return files
}
