package spool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/journal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// view reads the queue.
type view struct {
	*Spool
	locked bool   // by this command: it may repair what it finds broken
	ahead  *ahead // nil: nothing is read ahead
}

// ahead are task files that are read together, before they are asked for one by one.
type ahead struct {
	ids   []string // of the tasks that Look was told of
	files map[string][]byte
}

// mostAhead is the largest file, in bytes, that is read ahead.
const mostAhead = 16 << 10

// patience is how long View tries to do without the lock.
const patience = 250 * time.Millisecond

// View runs fn on a picture of the queue in which no transition is half done. It takes no
// lock, so that no command waits for it: it looks at the log before and after, and if
// something was committed meanwhile, fn runs again. So fn must begin anew each time, and be
// brief: if writers leave no pause for as long as patience, View takes the lock after all.
func (s *Spool) View(fn func(store.View) error) error {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err := s.settle(); err != nil {
			return err
		}
		at := s.at()
		err := fn(view{s, false, &ahead{}})
		if s.snapshot || s.still(at) {
			return err
		}
	}
	unlock, err := s.lock.take()
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.recover(); err != nil {
		return err
	}
	return fn(view{s, true, nil})
}

// mark is a place in the log, and what else the checkpoint says about it: the sizes of the
// indexes, and how many requests were refused that day.
type mark struct {
	journal.Mark
	day            string
	agenda, starts int64
	refused        int
}

func (s *Spool) at() mark {
	l := &s.log
	return mark{l.Mark, l.counts.Day, l.agenda, l.starts, l.counts.Refused}
}

// still reports whether nothing was committed since at, nor is about to be.
func (s *Spool) still(at mark) bool {
	if s.load() != nil || s.at() != at {
		return false
	}
	return !s.log.behind()
}

// settle waits until no transition is under way, and loads how far the log was carried
// out. It repairs what a command that died left behind.
func (s *Spool) settle() error {
	for wait, end := time.Millisecond, time.Now().Add(lockTimeout); ; wait = min(2*wait, 16*time.Millisecond) {
		err := s.load()
		behind := err != nil || s.log.behind()
		if s.snapshot && err == nil {
			return s.whole(behind)
		}
		if s.snapshot || err == nil && !behind {
			return err
		}
		// What can't be read may be half written: only a command that has the lock can tell.
		unlock, err := s.lock.try()
		if err == nil {
			err = s.recover()
			unlock()
			return err
		}
		if !errors.Is(err, store.ErrLocked) {
			return err
		}
		if time.Now().After(end) {
			return errTooLong()
		}
		select {
		case <-time.After(wait):
		case <-s.done:
			return context.Canceled
		}
	}
}

// Where returns the state in which a task has a file, "" if it has none. Of several the
// one that the log says counts.
func (v view) Where(id string) (task.State, error) {
	if !task.ValidID(id) {
		return "", nil
	}
	var all []task.State
	for _, st := range task.States {
		there, err := v.Has(store.On(st), id)
		if err != nil {
			return "", err
		}
		if there {
			all = append(all, st)
		}
	}
	if len(all) < 2 {
		return cmp.Or(append(all, "")...), nil
	}
	st, err := v.loggedState(id)
	if err != nil {
		return "", err
	}
	if !slices.Contains(all, st) {
		st = all[0]
	}
	if !v.locked {
		return st, nil
	}
	return st, v.removeOthers(id, st)
}

// loggedState returns the state that a task has by the log.
func (v view) loggedState(id string) (st task.State, err error) {
	err = v.Back(func(l audit.Line) bool {
		if l.Task == id && l.Moves() {
			st = l.To
			return false
		}
		return true
	})
	return st, err
}

// removeOthers removes the other names of a task file, if it has any: an older pulse left
// them when only half of a rename had reached the disk.
func (s *Spool) removeOthers(id string, st task.State) error {
	is, err := s.disk.Stat(taskFile(st, id))
	if err != nil {
		return err
	}
	for _, other := range task.States {
		name := taskFile(other, id)
		also, err := s.disk.Stat(name)
		if other == st || err != nil || also.ID != is.ID {
			continue // a copy made by hand is left to verify
		}
		if err := errors.Join(s.disk.Remove(name), s.disk.SyncDir(string(other))); err != nil {
			return err
		}
	}
	return nil
}

// Has reports whether a thing has a file.
func (v view) Has(s store.Shelf, key string) (bool, error) {
	_, err := v.disk.Stat(fileOf(s, key))
	if s == store.Refused && disk.Absent(err) || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// There lists the files of a shelf once.
func (v view) There(s store.Shelf) (func(id string) bool, error) {
	all := make(map[store.ID]bool, v.log.counts.Tasks[task.State(s)])
	err := v.disk.Names(dirOf(s), func(name string) error {
		if id, ok := keyOf(s, name); ok {
			all[store.IDOf(id)] = true
		}
		return nil
	})
	return func(id string) bool { return all[store.IDOf(id)] }, err
}

// Get reads a thing. If what lies in place of its file is not a file, or not one that this
// account may read, the error is ErrCorrupt. Unlike an I/O error it concerns that thing
// alone.
func (v view) Get(s store.Shelf, key string) (item store.Item, err error) {
	switch s {
	case store.Pruned:
		return v.pruned(key)
	case store.Names:
		return v.name(key)
	case store.Approvals, store.Partly, store.Grants:
		var owner int
		item.Bytes, owner, err = v.disk.ReadOwned(fileOf(s, key))
		item.Writer = approval.HeldBy(owner)
	default:
		item.Bytes, err = v.read(s, key)
	}
	if errors.Is(err, fs.ErrNotExist) || s == store.Refused && disk.Absent(err) {
		return item, fmt.Errorf("%w: %s", store.ErrUnknown, key)
	}
	if notFile(err) {
		err = fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	return item, err
}

// Each calls fn for the keys of a shelf, oldest first, until fn returns false. Open tasks
// come in the order of the agenda. A shelf that a snapshot or an older queue does not have is empty.
func (v view) Each(s store.Shelf, fn func(key string, made time.Time) (more bool, err error)) error {
	if st := task.State(s); st.Open() {
		return v.Open(st, func(e store.Entry) (bool, error) { return fn(e.ID, e.Since) })
	}
	type file struct {
		key  string
		made time.Time
	}
	var all []file
	err := v.disk.Names(dirOf(s), func(name string) error {
		key, ok := keyOf(s, name)
		if !ok {
			return nil
		}
		st, err := v.disk.Stat(fileOf(s, key))
		if err == nil {
			all = append(all, file{key, st.Mtime})
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && v.snapshot) && !(s == store.Refused && disk.Absent(err)) {
		return err
	}
	slices.SortFunc(all, func(a, b file) int {
		return cmp.Or(a.made.Compare(b.made), cmp.Compare(a.key, b.key))
	})
	for _, f := range all {
		if more, err := fn(f.key, f.made); err != nil || !more {
			return err
		}
	}
	return nil
}

// Counts returns how many tasks are in each state by the log, and how many requests were
// refused.
func (v view) Counts() store.Counts { return v.log.counts.At(v.log.Head) }

// Lines returns a reader of the log as it is now, which may be used after the View.
func (v view) Lines(since time.Time, want func(raw []byte) bool) (store.Lines, error) {
	lines, err := v.log.Lines(since, want)
	return func(fn func([]byte, *audit.Line) error) error { return v.hint(lines(fn)) }, err
}

// Back calls fn for the lines of the log, newest first, until fn returns false.
func (v view) Back(fn func(audit.Line) bool, events ...task.Event) error {
	return v.log.BackTo(fn, events...)
}

// Look notes which task files are read together once the first of them is asked for, because the
// others most likely lie in the same state. Under the lock each is read when it is asked for: most
// runs need few of those that they look at.
func (v view) Look(ids []string, files bool) error {
	if files && v.ahead != nil {
		*v.ahead = ahead{ids: ids}
	}
	return nil
}

// read reads the file of a thing.
func (v view) read(s store.Shelf, key string) ([]byte, error) {
	a, name := v.ahead, fileOf(s, key)
	if a == nil || !slices.Contains(task.States, task.State(s)) {
		return v.disk.Read(name)
	}
	if slices.Contains(a.ids, key) {
		names := make([]string, len(a.ids))
		for i, id := range a.ids {
			names[i] = fileOf(s, id)
		}
		*a = ahead{files: map[string][]byte{}}
		for i, b := range v.disk.ReadAll(names, mostAhead) {
			a.files[names[i]] = b
		}
	}
	if b := a.files[name]; b != nil {
		delete(a.files, name)
		return b, nil
	}
	return v.disk.Read(name)
}

// Clock returns the time of the last line. The clock is that of this machine.
func (v view) Clock() (now, last time.Time, err error) {
	err = v.log.Back(func(l audit.Line) bool {
		last = l.Time
		return false
	})
	return now, last, err
}

// History is Back outside of a View. It may take long, because committed lines never
// change.
func (s *Spool) History(fn func(audit.Line) bool, events ...task.Event) error {
	if err := s.settle(); err != nil {
		return err
	}
	return s.log.BackTo(fn, events...)
}
