package spool

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// maxMatches is how many ids Match returns at most: two show that a prefix is ambiguous.
const maxMatches = 2

// errEnough ends a search.
var errEnough = errors.New("enough")

// Match returns at most two ids that begin with prefix: those of open tasks or, if there
// is none, those of tasks that are closed or were pruned. For the latter it reads the
// names of all closed tasks, 0.7 s for a million, and no task file. Like List it takes no
// lock.
func (s *Spool) Match(prefix string) (ids []string, err error) {
	if err := s.settle(); err != nil {
		return nil, err
	}
	from := s.at()
	lists := map[task.State][]listedTask{}
	begins := func(e *store.Entry) bool { return strings.HasPrefix(e.ID, prefix) }
	err = s.listOpen(task.States, begins, lists)
	if err == nil {
		err = s.correct(from, task.States, begins, lists)
	}
	m := matches{prefix: prefix}
	for st, list := range lists {
		for i := range list {
			if st.Open() && err == nil {
				err = m.add(list[i].id.String())
			}
		}
	}
	if err == nil && len(m.ids) == 0 {
		err = s.matchClosed(&m, from)
	}
	if err == errEnough {
		err = nil
	}
	return m.ids, err
}

// matches are the ids found so far.
type matches struct {
	prefix string
	ids    []string
}

// add adds an id if it begins with the prefix. Once there are enough it returns errEnough.
func (m *matches) add(id string) error {
	if task.ValidID(id) && strings.HasPrefix(id, m.prefix) && !slices.Contains(m.ids, id) {
		m.ids = append(m.ids, id)
	}
	if len(m.ids) >= maxMatches {
		return errEnough
	}
	return nil
}

// matchClosed adds ids of tasks that are closed, were pruned, or moved since from.
func (s *Spool) matchClosed(m *matches, from mark) error {
	for _, st := range task.States {
		if st.Open() {
			continue
		}
		err := s.disk.Names(string(st), func(name string) error {
			return m.add(strings.TrimSuffix(name, ".json"))
		})
		if err != nil {
			return err
		}
	}
	if err := s.matchPruned(m); err != nil {
		return err
	}
	lines, _, err := s.moved(from)
	for i := range lines {
		if err == nil {
			err = m.add(lines[i].Task)
		}
	}
	return err
}

func (s *Spool) matchPruned(m *matches) error {
	names, err := disk.List(s.disk, prunedDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if n := min(len(name), len(m.prefix)); err != nil || name[:n] != m.prefix[:n] {
			continue
		}
		err = shardIn(prunedDir+"/"+name).Each(s.disk, func(_ int64, line []byte) (bool, error) {
			if line[33] == '=' { // the name of a mail
				return true, nil
			}
			err := m.add(string(line[:32]))
			return err == nil, err
		})
	}
	return err
}
