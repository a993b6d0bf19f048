package spool

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"pulse/lib/audit"
	"pulse/lib/queue"
	"pulse/lib/task"
)

// outboxDir keeps what workers proposed and nobody has taken yet: a file for each
// task that proposed, a record a line.
const outboxDir = "outbox"

// draftDir keeps drafts for people, who may do with them what they like.
const draftDir = "drafts"

func outboxFile(parent string) string { return outboxDir + "/" + parent + ".jsonl" }

// Propose stages a task's outbox, for the transition staged next.
func (t *tx) Propose(id string, outbox []byte) error {
	t.stage(id+".outbox", outbox, time.Time{})
	return nil
}

// Outbox returns what a task's worker proposed and nobody has taken yet.
func (v view) Outbox(parent string) ([]byte, error) {
	if !task.ValidID(parent) {
		return nil, nil
	}
	b, err := v.disk.Read(outboxFile(parent))
	if errors.Is(err, fs.ErrNotExist) || notFile(err) {
		return nil, nil
	}
	return b, err
}

// Outboxes calls fn for the tasks that have an outbox, the oldest outbox first.
func (v view) Outboxes(fn func(parent string) error) error {
	type box struct {
		parent string
		mtime  time.Time
	}
	var all []box
	err := v.disk.Names(outboxDir, func(name string) error {
		parent, ok := strings.CutSuffix(name, ".jsonl")
		if !ok || !task.ValidID(parent) {
			return nil
		}
		info, err := v.disk.Stat(outboxDir + "/" + name)
		all = append(all, box{parent, info.Mtime})
		return err
	})
	slices.SortFunc(all, func(a, b box) int {
		return cmp.Or(a.mtime.Compare(b.mtime), cmp.Compare(a.parent, b.parent))
	})
	for _, b := range all {
		if err == nil {
			err = fn(b.parent)
		}
	}
	return err
}

// outbox puts what a line says was proposed in its place, or notes what a line is
// the receipt of, for settle.
func (a *applier) outbox(l *audit.Line) error {
	if len(l.Proposed) > 0 {
		return a.proposed(l)
	}
	if l.Settles() && task.ValidID(l.Parent) {
		if a.settled == nil {
			a.settled = map[string][]string{}
		}
		a.settled[l.Parent] = append(a.settled[l.Parent], l.Task)
	}
	return nil
}

// settle takes out of the outboxes what has a receipt now. It makes what is left
// from what is there, so that has to be whole whenever the power fails: it is synced
// before it gets its name. All of it may have been done before.
func (a *applier) settle() error {
	for parent, taken := range a.settled {
		if err := a.takeOut(outboxFile(parent), taken); err != nil {
			return err
		}
	}
	a.settled = nil
	return nil
}

func (a *applier) takeOut(name string, taken []string) error {
	b, err := a.disk.Read(name)
	if errors.Is(err, fs.ErrNotExist) || notFile(err) {
		return nil
	}
	if err != nil {
		return err
	}
	rest, had, err := queue.Without(b, taken...)
	switch {
	case err != nil || !had: // what can't be read is left to verify
		return nil
	case len(rest) == 0:
		return a.remove(name)
	}
	a.dirs[outboxDir] = true
	return writeSynced(a.disk, name, rest)
}

// proposed moves an outbox into its place. What lies in tmp may be of an attempt
// that was never committed, and torn.
func (a *applier) proposed(l *audit.Line) error {
	staged := l.Task + ".outbox"
	b, err := a.disk.Read(tmpDir + "/" + staged)
	if errors.Is(err, fs.ErrNotExist) {
		a.dirs[outboxDir] = true
		return nil // it was put there before
	}
	if err != nil {
		return err
	}
	if list, err := queue.Outbox(b); err != nil || !slices.Equal(list, l.Proposed) {
		return nil
	}
	return a.carry(tmpDir+"/"+staged, outboxFile(l.Task))
}

// pending follows what was proposed and not taken.
type pending map[string]map[string]string // parent, effect, digest of the line

func (p pending) line(l *audit.Line) {
	if len(l.Proposed) > 0 {
		all := map[string]string{}
		for _, one := range l.Proposed {
			all[one.ID] = one.Digest
		}
		p[l.Task] = all
	}
	if !l.Settles() {
		return
	}
	if delete(p[l.Parent], l.Task); len(p[l.Parent]) == 0 {
		delete(p, l.Parent)
	}
}

// verifyOutbox checks that the outboxes hold what was proposed and not taken yet,
// and nothing else.
func (s *Spool) verifyOutbox(r *Report) error {
	seen := map[string]bool{}
	err := s.disk.Names(outboxDir, func(name string) error {
		b, err := s.disk.Read(outboxDir + "/" + name)
		if err != nil && !notFile(err) {
			return err
		}
		parent, named := strings.CutSuffix(name, ".jsonl")
		logged := r.pending[parent]
		list, err := queue.Outbox(b)
		same := named && err == nil && len(list) == len(logged) && len(list) > 0
		for _, one := range list {
			same = same && logged[one.ID] == one.Digest
		}
		if !same {
			r.findSmall("%s/%s: the log says something else of it", outboxDir, name)
		}
		seen[parent] = true
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // a snapshot has none
	}
	for parent := range r.pending {
		if !s.snapshot && !seen[parent] {
			r.findSmall("%s/%s.jsonl: it is gone", outboxDir, parent)
		}
	}
	return err
}
