package store

import (
	"slices"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// Agenda is the shelf of a Fold for the entries of open tasks, by task. No Change is about it.
const Agenda Shelf = "agenda"

// Fold is what a log makes of a queue: which things there are, and what its user keeps of each
// (T), under keys as small as the user likes (K), because there may be a million. Fold is pure.
// A store in memory is one, verify compares a store's own things with one, and a copy is made
// from one.
type Fold[K comparable, T any] struct {
	Key  func(key string) K
	Keep func(l *audit.Line, c *Change) T // what is kept of what a line makes of a thing

	Seq      int64  // the number of the last line
	Head     string // its hash
	Counts   Counts
	Tasks    map[K]Folded[T]        // those that have a file
	Things   map[Shelf]map[K]T      // all but the files of tasks
	Outboxes map[K][]audit.Proposed // what has no receipt yet
}

// Folded is a task that has a file.
type Folded[T any] struct {
	State  task.State
	File   T
	Opened int64 // the number of the line that opened it last, which is its place in the agenda
	Moved  int64 // and of the last one that changed its entry
}

// NewFold returns a Fold of no line.
func NewFold[K comparable, T any](key func(string) K, keep func(*audit.Line, *Change) T) *Fold[K, T] {
	return &Fold[K, T]{
		Key: key, Keep: keep, Head: audit.Origin, Counts: Counts{Tasks: map[task.State]int{}},
		Tasks: map[K]Folded[T]{}, Things: map[Shelf]map[K]T{}, Outboxes: map[K][]audit.Proposed{},
	}
}

// Add adds the next line of the log.
func (f *Fold[K, T]) Add(raw []byte, l *audit.Line) {
	f.Seq, f.Head = f.Seq+1, audit.Hash(raw)
	f.Counts.Count(l)
	for _, c := range Changes(l) {
		if i := slices.Index(task.States, task.State(c.Shelf)); i >= 0 {
			f.file(l, &c, task.States[i]) // the line's own word would keep the line in memory
		} else {
			f.thing(l, &c)
		}
	}
	if l.Moves() || l.Event == audit.Resurfaced {
		f.enter(l)
	}
}

// Get returns what is kept of a thing.
func (f *Fold[K, T]) Get(s Shelf, key string) (kept T, there bool) {
	k := f.Key(key)
	if t, ok := f.Tasks[k]; ok && On(t.State) == s {
		return t.File, true
	}
	kept, there = f.Things[s][k]
	return kept, there
}

// file carries out a change of the file of a task, which lies on the shelf of the state to.
func (f *Fold[K, T]) file(l *audit.Line, c *Change, to task.State) {
	k := f.Key(c.Key)
	t := f.Tasks[k]
	switch t.State = to; {
	case c.Gone():
		delete(f.Tasks, k)
		return
	case c.From == "":
		t.File = f.Keep(l, c)
	}
	f.Tasks[k] = t
}

// thing carries out any other change.
func (f *Fold[K, T]) thing(l *audit.Line, c *Change) {
	k, shelf := f.Key(c.Key), f.shelf(c.Shelf)
	switch {
	case c.From != "":
		moved, there := f.shelf(c.From)[k]
		if delete(shelf, k); there {
			shelf[k] = moved
		}
		delete(f.shelf(c.From), k)
	case c.Less != "":
		rest := slices.DeleteFunc(slices.Clone(f.Outboxes[k]), func(p audit.Proposed) bool { return p.ID == c.Less })
		if f.Outboxes[k] = rest; len(rest) == 0 {
			delete(f.Outboxes, k)
			delete(shelf, k)
		}
	case c.Gone():
		delete(shelf, k)
	default:
		if c.Lines != nil {
			f.Outboxes[k] = c.Lines
		}
		shelf[k] = f.Keep(l, c)
	}
}

// enter brings the entry of a task up to a line that moves it. One that was open keeps its place.
func (f *Fold[K, T]) enter(l *audit.Line) {
	k, open := f.Key(l.Task), f.shelf(Agenda)
	t, there := f.Tasks[k]
	if !there || !t.State.Open() {
		delete(open, k)
	} else {
		if _, was := open[k]; !was {
			t.Opened = f.Seq
		}
		open[k] = f.Keep(l, &Change{Shelf: Agenda, Key: l.Task})
	}
	if there {
		t.Moved = f.Seq
		f.Tasks[k] = t
	}
}

func (f *Fold[K, T]) shelf(s Shelf) map[K]T {
	if f.Things[s] == nil {
		f.Things[s] = map[K]T{}
	}
	return f.Things[s]
}
