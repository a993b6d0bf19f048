package spool

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"pulse/lib/audit"
	"pulse/lib/task"
)

// move puts the task file into the state, from wherever it lies.
func (a *applier) move(l *audit.Line) error {
	from := l.From
	if from == "" {
		from = tmpDir
	}
	to := taskFile(l.To, l.Task)
	err := a.carry(taskFile(from, l.Task), to)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = a.disk.Stat(to); err == nil { // it was moved before
			a.dirs[string(l.To)] = true
			delete(a.old, to)
		} else if err = a.find(l); errors.Is(err, fs.ErrNotExist) {
			return nil // removed by hand: verify says so
		}
	}
	if err != nil || !a.unsynced {
		return err
	}
	return a.alone(l.Task, l.To)
}

func taskFile(st task.State, id string) string { return string(st) + "/" + id + ".json" }

// find is move of a task that lies elsewhere than the line says.
func (a *applier) find(l *audit.Line) (err error) {
	for _, st := range append([]task.State{tmpDir}, task.States...) {
		if err = a.carry(taskFile(st, l.Task), taskFile(l.To, l.Task)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// alone takes all names of a task file away but that of a state, if any: a power cut may
// have left it more than one.
func (a *applier) alone(id string, st task.State) error {
	for _, other := range task.States {
		name := taskFile(other, id)
		if _, err := a.disk.Stat(name); err == nil && other != st {
			a.old[name] = true
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// carry gives a file another name. Its old one goes when that is durable: a rename may
// reach the disk by halves, and then the file could have lost both.
func (a *applier) carry(from, to string) error {
	a.dirs[dirOf(to)] = true
	if err := a.disk.Link(from, to); err != nil {
		return err
	}
	delete(a.old, to)
	if from != to {
		a.old[from] = true
	}
	return nil
}

// rename is carry of what may be lost, and is not missed then.
func (a *applier) rename(from, to string) error {
	a.dirs[dirOf(from)], a.dirs[dirOf(to)] = true, true
	return a.disk.Rename(from, to)
}

// sync makes durable what was carried out, and then takes the old names away.
func (a *applier) sync() error {
	if err := a.syncFiles(); err != nil {
		return err
	}
	if err := a.syncDirs(); err != nil {
		return err
	}
	if _, err := a.leave(); err != nil {
		return err
	}
	return a.syncDirs()
}

func (a *applier) syncFiles() error {
	if len(a.wet) >= manyFiles {
		clear(a.dirs)
		return a.disk.SyncAll()
	}
	for _, name := range a.wet {
		// A line further on may have removed it again.
		if err := a.disk.SyncFile(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (a *applier) syncDirs() error {
	for _, d := range slices.Sorted(maps.Keys(a.dirs)) {
		if d == tmpDir { // what lies there is either moved or thrown away
			continue
		}
		if err := a.disk.SyncDir(d); err != nil {
			return err
		}
	}
	clear(a.dirs)
	return nil
}

// leave takes the old names away. The new ones are durable.
func (a *applier) leave() (changed bool, err error) {
	for name := range a.old {
		if err := a.remove(name); err != nil {
			return false, err
		}
	}
	changed = len(a.old) > 0
	clear(a.old)
	return changed, nil
}

// single takes the other names of a task file away, if it has any: an older pulse left them
// where a rename reached the disk by halves.
func (t *tx) single(id string, st task.State) error {
	is, err := t.disk.Stat(taskFile(st, id))
	if err != nil {
		return err
	}
	for _, other := range task.States {
		name := taskFile(other, id)
		if also, err := t.disk.Stat(name); other == st || err != nil || also.ID != is.ID {
			continue // a copy made by hand is left to verify
		}
		if err := errors.Join(t.disk.Remove(name), t.disk.SyncDir(string(other))); err != nil {
			return err
		}
	}
	return nil
}
