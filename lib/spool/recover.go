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
	"pulse/lib/task"
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
	if errors.Is(err, ErrBroken) {
		return fault.Failedf("pulse-queue verify --queue "+escape.Shell(s.dir), "%w", err)
	}
	return err
}

// replay carries out what the log holds behind the checkpoint. It reads it twice:
// the last commit has to be durable before any file is moved for it.
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
	begin, pruned := s.log, shards{}
	torn, err := s.log.read(func(l *audit.Line) error {
		pruned.add(l)
		return nil
	})
	if err != nil {
		return s.hint(err)
	}
	if err := s.log.rewrite(); err != nil {
		return err
	}
	if begin.lost {
		if err := pruned.write(s.disk); err != nil {
			return err
		}
	}
	// All but the last commit were carried out before the next one was begun.
	from := place{s.log.segment, s.log.size - int64(len(s.log.last))}
	if !begin.lost {
		from = place{begin.segment, begin.size}
	}
	s.log = begin
	if err := s.again(from); err != nil {
		return err
	}
	if torn > 0 {
		if err := s.moveAside(torn); err != nil {
			return err
		}
	}
	return s.log.checkpoint()
}

// forget removes the checkpoint, for what it vouches for is about to be written anew.
func (s *Spool) forget() error {
	if err := s.disk.Remove(checkpointFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.disk.SyncDir("")
}

// again carries out what the log holds, some lines at a time. Before from it is the
// agenda and the counts only that have to be made.
func (s *Spool) again(from place) error {
	for name, size := range map[string]int64{agendaFile: s.log.agenda, startsFile: s.log.starts} {
		err := s.disk.Truncate(name, size)
		if errors.Is(err, fs.ErrNotExist) || notFile(err) {
			err = s.disk.Write(name, nil, time.Time{})
		}
		if err != nil {
			return err
		}
	}
	a := newApplier(s.disk)
	a.unsynced, a.stale, a.shared = true, map[string]bool{}, s.disk.Shared()
	var batch []audit.Line
	files := false // whether those of batch may want to be moved
	flush := func() error {
		err := s.redo(a, batch, files)
		batch = batch[:0]
		return err
	}
	_, err := s.log.read(func(l *audit.Line) (err error) {
		s.log.count(l)
		carried := s.log.segment > from.name || s.log.segment == from.name && s.log.size >= from.off
		if carried != files || len(batch) == redone {
			err = flush()
			files = carried
		}
		batch = append(batch, *l)
		return err
	})
	if err == nil {
		err = flush()
	}
	for id := range a.stale {
		if err == nil {
			err = a.remove(resultDir + "/" + id)
		}
	}
	if err == nil {
		err = s.disk.SyncAll()
	}
	if err == nil {
		var left bool
		if left, err = a.leave(); left && err == nil {
			err = s.disk.SyncAll()
		}
	}
	if err == nil {
		err = s.compact()
	}
	s.log.lost = err != nil && s.log.lost
	return err
}

// redone is how many lines are carried out at a time; a variable for tests.
var redone = 4096

// redo carries out lines that may have been carried out before, in part. What a
// task's last line says is what holds; of its results, the last one.
func (s *Spool) redo(a *applier, batch []audit.Line, files bool) error {
	if err := s.schedule(batch); err != nil {
		return err
	}
	if _, err := s.record(batch); err != nil || !files {
		return err
	}
	last, end := map[string]*audit.Line{}, map[string]*audit.Line{}
	for i := range batch {
		l := &batch[i]
		if l.Moves() {
			last[l.Task] = l
		}
		if l.From == task.Running {
			end[l.Task] = l
		}
	}
	for i := range batch {
		l := &batch[i]
		var err error
		if final := last[l.Task]; final == nil || final == l || !l.Moves() {
			err = a.line(l)
		} else if err = errors.Join(a.outbox(l), a.read(l)); err == nil && end[l.Task] == l {
			err = a.result(l)
		}
		if err != nil {
			return err
		}
	}
	return a.settle()
}

// moveAside takes half a commit out of the end of the log and records that.
func (s *Spool) moveAside(torn int64) error {
	name := auditDir + "/" + s.log.segment
	b := make([]byte, torn)
	if _, err := s.disk.ReadAt(name, s.log.size, b); err != nil {
		return err
	}
	now := time.Now()
	if err := writeSynced(s.disk, fmt.Sprintf("%s/torn-%d", auditDir, now.UnixNano()), b); err != nil {
		return err
	}
	if err := s.disk.Truncate(name, s.log.size); err != nil {
		return err
	}
	return s.log.append([]audit.Line{{Time: now, Event: audit.Repaired}})
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

func dirOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}
