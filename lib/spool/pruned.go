package spool

import (
	"errors"
	"fmt"
	"strings"

	"pulse/lib/audit"
	"pulse/lib/disk"
	"pulse/lib/task"
)

// prunedDir keeps the ids of tasks whose files were removed, so that none of them
// is taken again: a file for each first three digits, a line for each id.
const prunedDir = "pruned"

// prunedWidth is the width of a line: the id and the state it had.
const prunedWidth = 64

func appendPruned(dst []byte, id string, last task.State) []byte {
	return fmt.Appendf(dst, "%s %-30s\n", id, last)
}

func prunedFile(id string) string { return prunedDir + "/" + id[:3] }

// Pruned returns the last state of a task that was pruned.
func (v view) Pruned(id string) (last task.State, err error) {
	if !task.ValidID(id) {
		return "", nil
	}
	_, last, err = findPruned(v.disk, id)
	return last, v.hint(err)
}

// Pruned is that of the view; where few or none were pruned it opens no file.
func (t *tx) Pruned(id string) (last task.State, err error) {
	if t.shards == nil {
		t.shards = map[string]bool{}
		err := t.disk.Names(prunedDir, func(name string) error {
			t.shards[name] = true
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	if !task.ValidID(id) || !t.shards[id[:3]] {
		return "", nil
	}
	last, err = t.view.Pruned(id)
	if errors.Is(err, errShard) {
		if err = t.anew(); err == nil {
			last, err = t.view.Pruned(id)
		}
	}
	return last, err
}

// shards are the files of pruned ids, made of lines of the log.
type shards map[string][]byte

func (sh shards) add(l *audit.Line) {
	if l.Event == task.Pruned && task.ValidID(l.Task) {
		name := prunedFile(l.Task)
		sh[name] = appendPruned(sh[name], l.Task, l.From)
	}
}

// write replaces the files durably.
func (sh shards) write(d disk.Disk) error {
	if len(sh) == 0 {
		return nil
	}
	var files []disk.File
	for name, b := range sh {
		files = append(files, disk.File{Name: tmpDir + name[len(prunedDir):], Data: b})
	}
	if err := errors.Join(d.WriteAll(files), d.SyncAll()); err != nil {
		return err
	}
	for name := range sh {
		if err := d.Rename(tmpDir+name[len(prunedDir):], name); err != nil {
			return err
		}
	}
	return d.SyncDir(prunedDir)
}

// errShard is the error of ids that can't be read: they are not taken for ids that
// were never there, but made anew from the log.
var errShard = fmt.Errorf("%w, or a file made from it", ErrBroken)

// findPruned returns where the line of an id stands, or would be written.
func findPruned(d disk.Disk, id string) (off int64, last task.State, err error) {
	err = lines(d, prunedFile(id), prunedWidth, func(at int64, line []byte) (bool, error) {
		if !task.ValidID(string(line[:32])) && line[0] != 0 { // zeros are what a power cut left
			return false, fmt.Errorf("%w: %s: not a line of an id", errShard, prunedFile(id))
		}
		if string(line[:32]) == id {
			off, last = at, task.State(strings.TrimSpace(string(line[33:])))
			return false, nil
		}
		off = at + prunedWidth
		return true, nil
	})
	if notFile(err) {
		err = fmt.Errorf("%w: %w", errShard, err)
	}
	return off, last, err
}

// prune removes what is kept of a task, once its id is on the list. A line that is
// there already is written again: the sync that was to follow may have failed.
func (a *applier) prune(l *audit.Line) error {
	off, _, err := findPruned(a.disk, l.Task)
	if err != nil {
		return err
	}
	name := prunedFile(l.Task)
	if err := a.disk.WriteAt(name, off, appendPruned(nil, l.Task, l.From)); err != nil {
		return err
	}
	a.wrote(name)
	if a.unsynced {
		if err := a.alone(l.Task, ""); err != nil {
			return err
		}
	}
	for _, file := range []string{
		string(l.From) + "/" + l.Task + ".json", metaDir + "/" + l.Task + ".json",
		resultDir + "/" + l.Task, approvalFile(l.Task),
	} {
		if err := a.remove(file); err != nil {
			return err
		}
	}
	return nil
}
