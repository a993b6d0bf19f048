package spool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/disk"
	"pulse/lib/queue"
	"pulse/lib/record"
	"pulse/lib/task"
)

// view reads the queue.
type view struct{ *Spool }

// patience is how long View tries without the lock.
const patience = 250 * time.Millisecond

// View runs fn on a picture of the queue in which no transition is half done. It
// takes no lock, so that nobody waits for it: it looks at the log before and after,
// and if something was committed meanwhile, fn runs again. So fn must begin anew
// each time, and be brief: where writers leave it no pause for so long, it does take
// the lock.
func (s *Spool) View(fn func(queue.View) error) error {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err := s.settle(); err != nil {
			return err
		}
		at := s.at()
		err := fn(view{s})
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
	return fn(view{s})
}

// mark is a place in the log, and what else the checkpoint says of it: the sizes of the
// indexes, and what was refused.
type mark struct {
	segment, head, day   string
	size, agenda, starts int64
	refused              int
}

func (s *Spool) at() mark {
	l := &s.log
	return mark{l.segment, l.head, l.Day, l.size, l.agenda, l.starts, l.Refused}
}

// still reports whether nothing was committed since at, nor is about to be.
func (s *Spool) still(at mark) bool {
	if s.load() != nil || s.at() != at {
		return false
	}
	behind, err := s.log.behind()
	return !behind && err == nil
}

// settle waits until no transition is under way, and loads how far the log was
// carried out. It repairs what a command left that died.
func (s *Spool) settle() error {
	for wait, end := time.Millisecond, time.Now().Add(LockTimeout); ; wait = min(2*wait, 16*time.Millisecond) {
		err := s.load()
		behind := err != nil
		if err == nil {
			behind, err = s.log.behind()
		}
		if s.snapshot && err == nil {
			return s.whole(behind)
		}
		if s.snapshot || err == nil && !behind {
			return err
		}
		// What can't be read may be half written: only who has the lock can tell.
		unlock, err := s.lock.try()
		if err == nil {
			err = s.recover()
			unlock()
			return err
		}
		if !errors.Is(err, ErrLocked) {
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

// State returns where the task lies; an empty state is a task nobody knows.
func (v view) State(id string) (task.State, error) {
	if !task.ValidID(id) {
		return "", nil
	}
	var all []task.State
	for _, st := range task.States {
		_, err := v.disk.Stat(taskFile(st, id))
		if err == nil {
			all = append(all, st)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if len(all) < 2 {
		return cmp.Or(append(all, "")...), nil
	}
	logged, err := v.left(id)
	if err == nil && !slices.Contains(all, logged) {
		logged = all[0]
	}
	return logged, err
}

// Lies reports whether the task has a file in a state.
func (v view) Lies(st task.State, id string) (bool, error) {
	_, err := v.disk.Stat(taskFile(st, id))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// left returns the state that the log left a task in.
func (v view) left(id string) (st task.State, err error) {
	err = v.History(func(l audit.Line) bool {
		if l.Task == id && l.Moves() {
			st = l.To
			return false
		}
		return true
	})
	return st, err
}

// Scan calls fn for the tasks of a state, oldest first, until it returns false. Of
// open tasks the agenda knows the order; of others it is made here, which takes 24
// bytes of memory for each.
func (v view) Scan(st task.State, fn func(id string) (more bool, err error)) error {
	if st.Open() {
		return v.Entries(st, func(e queue.Entry) (bool, error) { return fn(e.ID) })
	}
	list, err := v.byAge(st)
	for _, f := range list {
		if more, err := fn(f.id.String()); err != nil || !more {
			return err
		}
	}
	return err
}

// Count returns how many tasks the log has left in a state.
func (v view) Count(st task.State) (int, error) { return v.log.counts[st], nil }

// Load reads a task. A file that can't be what it should be gives ErrCorrupt and
// the little that is known.
func (v view) Load(st task.State, id string) (queue.Stored, error) {
	stored := queue.Stored{Task: task.Task{ID: id, State: st}}
	b, err := v.disk.Read(string(st) + "/" + id + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return stored, fmt.Errorf("%w: %s", queue.ErrUnknown, id)
	}
	if notFile(err) {
		return stored, fmt.Errorf("%w: %w", queue.ErrCorrupt, err)
	}
	if err != nil {
		return stored, err
	}
	if err := stored.Parse(b); err != nil {
		return stored, err
	}
	found, err := v.object(metaDir+"/"+id+".json", func(val record.Value) (err error) {
		stored.Task.Change, err = task.DecodeChange(val)
		return err
	})
	if err == nil && !found { // nothing happened to it since it was added
		stored.Task.Change = stored.First()
	}
	return stored, err
}

// object reads a small file that holds one object; a file that is absent is no
// error and not found, one that can't be what it should be is ErrCorrupt.
func (v view) object(name string, fn func(record.Value) error) (found bool, err error) {
	b, err := v.disk.Read(name)
	return parsed(name, b, err, fn)
}

// held is object for what somebody said: holder is who alone can have written it, 0 if
// that is nobody, or root.
func (v view) held(name string, fn func(record.Value) error) (holder int, found bool, err error) {
	b, holder, err := v.disk.ReadOwned(name)
	found, err = parsed(name, b, err, fn)
	return holder, found, err
}

// parsed is object of what reading a file gave.
func parsed(name string, b []byte, err error, fn func(record.Value) error) (found bool, _ error) {
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil && !notFile(err) {
		return false, err
	}
	if err == nil {
		var rec *record.Record
		if rec, err = record.Parse(b); err == nil {
			err = fn(rec.Value())
		}
	}
	if err != nil {
		return true, fmt.Errorf("%w: %s: %w", queue.ErrCorrupt, name, err)
	}
	return true, nil
}

// Approval returns the task's approval, or nil. One that can't be read, or that is
// for another task, is ErrCorrupt.
func (v view) Approval(id string) (*approval.Approval, error) {
	var a approval.Approval
	holder, found, err := v.held(approvalFile(id), func(val record.Value) (err error) {
		if a, err = approval.Decode(val); err == nil && a.Task != id {
			err = fmt.Errorf("it is for task %s", a.Task)
		}
		return err
	})
	if !found || err != nil {
		return nil, err
	}
	a.Holder = holder
	return &a, nil
}

// Grants returns all grants, oldest first. One that can't be read is good for
// nothing, and left out.
func (v view) Grants() ([]approval.Grant, error) {
	names, err := disk.List(v.disk, grantDir)
	if err != nil {
		return nil, err
	}
	var grants []approval.Grant
	for _, name := range names {
		var g approval.Grant
		holder, _, err := v.held(grantDir+"/"+name, func(val record.Value) (err error) {
			g, err = approval.DecodeGrant(val)
			return err
		})
		g.Holder = holder
		if errors.Is(err, queue.ErrCorrupt) || err == nil && g.ID+".json" != name {
			continue
		}
		if err != nil {
			return nil, err
		}
		grants = append(grants, g)
	}
	slices.SortFunc(grants, func(a, b approval.Grant) int { return a.Given.Compare(b.Given) })
	return grants, nil
}

// Held returns the line of the hold that stops every run, or nil.
func (v view) Held() (*audit.Line, error) {
	b, err := v.disk.Read(holdFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil && !notFile(err) {
		return nil, err
	}
	l, err := audit.Parse(b)
	if err != nil {
		l = audit.Line{} // made by hand: it holds all the same
	}
	return &l, nil
}

// Result returns what the task's worker printed, or nothing.
func (v view) Result(id string) ([]byte, error) {
	b, err := v.disk.Read(resultDir + "/" + id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if notFile(err) {
		err = fmt.Errorf("%w: %w", queue.ErrCorrupt, err)
	}
	return b, err
}

// Refused returns how many records the policy rejected on the last day it did.
func (v view) Refused() (day string, n int) { return v.log.Day, v.log.Refused }
