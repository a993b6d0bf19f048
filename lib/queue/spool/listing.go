package spool

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"pulse/lib/queue/entry"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// List returns the tasks of some states as they were at one moment: each in one state, and
// the oldest of a state first. Open tasks are listed only if want accepts them. List takes
// no lock and never begins again: what was committed while it read the directories stands
// in the log, and corrects what it found. It needs 40 bytes of memory for each task, and
// the size of the agenda.
func (s *Spool) List(states []task.State, want func(*store.Entry) bool) ([]store.Listed, error) {
	if err := s.settle(); err != nil {
		return nil, err
	}
	from := s.at()
	lists := map[task.State][]listedTask{}
	err := s.listOpen(states, want, lists)
	for _, st := range states {
		if err == nil && !st.Open() {
			lists[st], err = s.byAge(st)
		}
	}
	if err == nil {
		err = s.correct(from, states, want, lists)
	}
	if err != nil {
		return nil, err
	}
	onlyOnce(lists)
	all := make([]store.Listed, 0, len(states))
	for _, st := range states {
		l := store.Listed{State: st, IDs: make([]store.ID, len(lists[st]))}
		for i := range lists[st] {
			l.IDs[i] = lists[st][i].id
		}
		all = append(all, l)
	}
	return all, nil
}

// listedTask is a task file in a directory, or a line of the agenda.
type listedTask struct {
	mtime int64
	id    store.ID
}

// listOpen lists the open tasks. It reads the agenda in one go, because the file may be
// rewritten meanwhile.
func (s *Spool) listOpen(
	states []task.State, want func(*store.Entry) bool, lists map[task.State][]listedTask,
) error {
	if !slices.ContainsFunc(states, task.State.Open) {
		return nil
	}
	b, err := s.disk.Read(agendaFile)
	if err != nil {
		return err
	}
	for line := range slices.Chunk(b, agenda.Width) {
		e, ok := entry.Parse(line)
		if ok && slices.Contains(states, e.State) && want(&e) {
			lists[e.State] = append(lists[e.State], listedTask{id: store.IDOf(e.ID)})
		}
	}
	return nil
}

// byAge lists the files of a state. A file that disappears meanwhile is left out.
func (s *Spool) byAge(st task.State) (all []listedTask, err error) {
	err = s.disk.Names(string(st), func(name string) error {
		id, ok := strings.CutSuffix(name, ".json")
		if !ok || !task.ValidID(id) {
			return nil
		}
		info, err := s.disk.Stat(string(st) + "/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		all = append(all, listedTask{info.Mtime.UnixNano(), store.IDOf(id)})
		return err
	})
	slices.SortFunc(all, byTime)
	return all, err
}

func byTime(a, b listedTask) int {
	return cmp.Or(cmp.Compare(a.mtime, b.mtime), bytes.Compare(a.id[:], b.id[:]))
}

// correct brings lists whose making began at from up to what was committed by now.
func (s *Spool) correct(
	from mark, states []task.State, want func(*store.Entry) bool, lists map[task.State][]listedTask,
) error {
	lines, last, err := s.moved(from)
	if err != nil || len(lines) == 0 {
		return err
	}
	for st := range lists {
		lists[st] = slices.DeleteFunc(lists[st], func(f listedTask) bool { _, ok := last[f.id]; return ok })
	}
	for i := range lines {
		l := &lines[i]
		id, e := store.IDOf(l.Task), store.EntryOf(l)
		if last[id] != i || !slices.Contains(states, l.To) || l.To.Open() && !want(&e) {
			continue
		}
		f := listedTask{l.Time.UnixNano(), id}
		if info, err := s.disk.Stat(string(l.To) + "/" + l.Task + ".json"); err == nil {
			f.mtime = info.Mtime.UnixNano()
		}
		lists[l.To] = append(lists[l.To], f)
	}
	for st := range lists {
		if !st.Open() {
			slices.SortFunc(lists[st], byTime)
		}
	}
	return nil
}

// moved returns the transitions from one place in the log up to now, and the index of the
// last one of each task.
func (s *Spool) moved(from mark) (lines []audit.Line, last map[store.ID]int, err error) {
	if err := s.settle(); err != nil {
		return nil, nil, err
	}
	last = map[store.ID]int{}
	err = s.between(from, s.at(), func(l *audit.Line) error {
		if l.Moves() {
			last[store.IDOf(l.Task)] = len(lines)
			lines = append(lines, *l)
		}
		return nil
	})
	return lines, last, err
}

// onlyOnce removes from the open tasks those whose file was moved by hand to the directory
// of a closed state: a task is listed once, where its file lies.
func onlyOnce(lists map[task.State][]listedTask) {
	open, ended := map[store.ID]bool{}, map[store.ID]bool{}
	for st, list := range lists {
		for i := range list {
			if st.Open() {
				open[list[i].id] = true
			}
		}
	}
	for st, list := range lists {
		for i := range list {
			if !st.Open() && open[list[i].id] {
				ended[list[i].id] = true
			}
		}
	}
	if len(ended) == 0 {
		return
	}
	for st := range lists {
		if st.Open() {
			lists[st] = slices.DeleteFunc(lists[st], func(f listedTask) bool { return ended[f.id] })
		}
	}
}

// between calls fn for the lines from one place in the log to another.
func (s *Spool) between(from, to mark, fn func(*audit.Line) error) error {
	return s.hint(s.log.Between(from.Mark, to.Mark, fn))
}
