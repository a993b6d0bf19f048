package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"pulse/lib/audit"
	"pulse/lib/fault"
	"pulse/lib/task"
)

// recover brings the directories up to the log. The exclusive lock is held, so
// whoever left the queue in between is dead.
func (s *Spool) recover() error {
	if err := s.log.load(); err != nil {
		return err
	}
	behind, err := s.log.behind()
	if err != nil {
		return err
	}
	if behind {
		if err := s.replay(); err != nil {
			return err
		}
	}
	return s.sweep()
}

// replay carries out what the log holds behind the checkpoint.
func (s *Spool) replay() error {
	// The command that died may not have come to its syncs; what is trusted from
	// here on has to be on the disk first.
	if err := s.disk.SyncAll(); err != nil {
		return err
	}
	a := applier{disk: s.disk, dirs: map[string]bool{}}
	// What a task's last line says is what holds; of its results, the last one.
	last, end := map[string]*audit.Line{}, map[string]*audit.Line{}
	var order []*audit.Line
	torn, err := s.log.read(func(l audit.Line) {
		order = append(order, &l)
		if l.Task != "" && l.To != "" {
			last[l.Task] = &l
		}
		if l.From == task.Running {
			end[l.Task] = &l
		}
		if day := l.Time.UTC().Format(time.DateOnly); l.From == "" && l.To == "" && l.Task != "" {
			if s.log.Day != day {
				s.log.Day, s.log.Refused = day, 0
			}
			s.log.Refused++
		}
	})
	if errors.Is(err, ErrBroken) {
		return fault.Failedf("pulse-queue verify --queue "+s.dir, "%w", err)
	}
	if err != nil {
		return err
	}
	if err := s.log.rewrite(); err != nil {
		return err
	}
	for _, l := range order {
		if final, ok := last[l.Task]; !ok || final == l {
			err = a.line(l)
		} else if end[l.Task] == l {
			err = a.result(l)
		}
		if err != nil {
			return err
		}
	}
	if err := a.sync(); err != nil {
		return err
	}
	if torn > 0 {
		if err := s.moveAside(torn); err != nil {
			return err
		}
	}
	return s.log.checkpoint()
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
	names, err := s.disk.List(tmpDir)
	for _, n := range names {
		if e := s.disk.Remove(tmpDir + "/" + n); e != nil && !errors.Is(e, fs.ErrNotExist) {
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
