// Package queuetest is the suite that every store of package queue must pass. A store passes
// if it says of Life, the life of a queue with everything in it, what Memory says (Same); if
// nothing is lost, torn or done twice although that life is interrupted at every step and
// the power is cut (Everywhere, Randomly); and if many commands may work on it at once
// (Storm).
//
// Invariant: Memory is the simplest store that keeps the promises of store.Store. It holds
// only the log and what store.Fold makes of it, so a store that says something else
// than Memory is wrong. Caveat: it is for tests; nothing in it is durable.
package queuetest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Memory is a store in memory.
type Memory struct {
	mu sync.Mutex
	kept

	// Fail is called in each step of a View or an Update, and its error ends the step. step
	// is the name of the method, or the event of the line that is carried out. May be nil.
	Fail func(step string) error
}

// kept is what a store keeps. Update works on a copy of it.
type kept struct {
	*store.Fold[string, thing]
	lines  []audit.Line
	starts []store.Start
}

type thing struct {
	bytes  []byte
	made   time.Time
	writer approval.Holder
	entry  store.Entry // of an open task
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{kept: kept{Fold: store.NewFold[string, thing](func(key string) string { return key }, nil)}}
}

func (k *kept) clone() kept {
	c := kept{store.NewFold(k.Key, k.Keep), slices.Clone(k.lines), slices.Clone(k.starts)}
	c.Seq, c.Head, c.Counts = k.Seq, k.Head, k.Counts
	c.Counts.Tasks = maps.Clone(k.Counts.Tasks)
	c.Tasks, c.Outboxes = maps.Clone(k.Tasks), maps.Clone(k.Outboxes)
	for s, m := range k.Things {
		c.Things[s] = maps.Clone(m)
	}
	return c
}

func (m *Memory) fail(step string) error {
	if m.Fail == nil {
		return nil
	}
	return m.Fail(step)
}

// View implements store.Store.
func (m *Memory) View(fn func(store.View) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fn(view{m})
}

// Update implements store.Store.
func (m *Memory) Update(fn func(store.View) (*store.Commit, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := fn(view{m})
	if err != nil {
		return err
	}
	next := m.clone()
	for i := range c.Lines {
		l := &c.Lines[i]
		l.Prev, l.More = next.Head, i < len(c.Lines)-1
		if err := m.fail(string(l.Event)); err != nil {
			return err
		}
		if err := next.carryOut(l, c.Blobs); err != nil {
			return err
		}
	}
	next.Counts.Refused += c.Unlisted
	m.kept = next
	return nil
}

// carryOut changes everything as a line says.
func (k *kept) carryOut(l *audit.Line, blobs []store.Blob) (err error) {
	k.Keep = func(l *audit.Line, c *store.Change) thing {
		t, bad := keep(l, c, blobs)
		if bad != nil {
			err = fmt.Errorf("%s %s: %w", l.Event, c.Shelf, bad)
		}
		return t
	}
	k.lines = append(k.lines, *l)
	k.Add(l.Append(nil), l)
	if l.Event == audit.ClockJumped { // for a day, they are counted from the log
		k.starts = slices.DeleteFunc(k.starts, func(st store.Start) bool { return st.Time.After(l.Time) })
	}
	if l.Event == task.Started {
		e := store.EntryOf(l)
		k.starts = append(k.starts, store.Start{Time: l.Time, Kind: e.Kind, External: e.External, Sender: e.Sender})
	}
	return err
}

// keep returns what a line makes of a thing.
func keep(l *audit.Line, c *store.Change, blobs []store.Blob) (thing, error) {
	switch {
	case c.Shelf == store.Agenda:
		return thing{entry: store.EntryOf(l)}, nil
	case c.Bytes != nil:
		return thing{bytes: c.Bytes, made: l.Time}, nil
	}
	i := slices.IndexFunc(blobs, func(b store.Blob) bool {
		return b.Shelf == c.Shelf && b.Key == c.Key && is(c, b.Bytes)
	})
	if i < 0 {
		return thing{}, errors.New("nothing was staged that the line has a digest of")
	}
	t := thing{bytes: blobs[i].Bytes, made: blobs[i].Made}
	if t.made.IsZero() {
		t.made = l.Time
	}
	return t, nil
}

// is reports whether these are the bytes that a change says were staged.
func is(c *store.Change, b []byte) bool {
	if c.Lines == nil {
		return task.Digest(b) == c.Digest
	}
	lines, err := store.ReadOutbox(b)
	return err == nil && slices.Equal(lines, c.Lines)
}

// shelf returns what is on a shelf.
func (k *kept) shelf(s store.Shelf) map[string]thing {
	if !slices.Contains(task.States, task.State(s)) {
		return k.Things[s]
	}
	files := map[string]thing{}
	for id, t := range k.Tasks {
		if store.On(t.State) == s {
			files[id] = t.File
		}
	}
	return files
}

// List implements store.Store.
func (m *Memory) List(states []task.State, want func(*store.Entry) bool) (all []store.Listed, err error) {
	err = m.View(func(v store.View) error {
		for _, st := range states {
			l := store.Listed{State: st}
			if st.Open() {
				err = v.Open(st, func(e store.Entry) (bool, error) {
					if want(&e) {
						l.IDs = append(l.IDs, store.IDOf(e.ID))
					}
					return true, nil
				})
			} else {
				err = v.Each(store.On(st), func(id string, _ time.Time) (bool, error) {
					l.IDs = append(l.IDs, store.IDOf(id))
					return true, nil
				})
			}
			all = append(all, l)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// Match implements store.Store.
func (m *Memory) Match(prefix string) (ids []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	begins := func(keys map[string]thing) {
		for _, id := range slices.Sorted(maps.Keys(keys)) {
			if strings.HasPrefix(id, prefix) && len(ids) < 2 && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	for _, open := range []bool{true, false} {
		for _, st := range task.States {
			if st.Open() == open {
				begins(m.shelf(store.On(st)))
			}
		}
		if open && len(ids) > 0 {
			return ids, nil
		}
	}
	begins(m.Things[store.Pruned])
	return ids, nil
}

type view struct{ m *Memory }

func (v view) Where(id string) (task.State, error) {
	return v.m.Tasks[id].State, v.m.fail("Where")
}

func (v view) Has(s store.Shelf, key string) (bool, error) {
	_, ok := v.m.Get(s, key)
	return ok, v.m.fail("Has")
}

func (v view) Get(s store.Shelf, key string) (store.Item, error) {
	t, ok := v.m.Get(s, key)
	if err := v.m.fail("Get"); err != nil {
		return store.Item{}, err
	}
	if !ok {
		return store.Item{}, fmt.Errorf("%w: %s", store.ErrUnknown, key)
	}
	if s == store.Outbox {
		return store.Item{Bytes: v.m.rest(key, t.bytes)}, nil
	}
	return store.Item{Bytes: bytes.Clone(t.bytes), Writer: t.writer}, nil
}

// rest returns the lines of an outbox that have no receipt yet, or what else lies in its place.
func (k *kept) rest(parent string, all []byte) []byte {
	var settled []string
	list, _ := store.ReadOutbox(all)
	for _, p := range list {
		if !slices.Contains(k.Outboxes[parent], p) {
			settled = append(settled, p.ID)
		}
	}
	if rest, _, err := store.Without(all, settled...); err == nil {
		return rest
	}
	return all
}

func (v view) Each(s store.Shelf, fn func(string, time.Time) (bool, error)) error {
	if err := v.m.fail("Each"); err != nil {
		return err
	}
	if st := task.State(s); st.Open() { // the order of open tasks is that in which they became open
		return v.Open(st, func(e store.Entry) (bool, error) { return fn(e.ID, e.Since) })
	}
	shelf := v.m.shelf(s)
	for _, key := range slices.SortedFunc(maps.Keys(shelf), func(a, b string) int {
		return cmp.Or(shelf[a].made.Compare(shelf[b].made), cmp.Compare(a, b))
	}) {
		if more, err := fn(key, shelf[key].made); err != nil || !more {
			return err
		}
	}
	return nil
}

func (v view) Open(st task.State, fn func(store.Entry) (bool, error)) error {
	if err := v.m.fail("Open"); err != nil {
		return err
	}
	open := v.m.Things[store.Agenda]
	for _, id := range slices.SortedFunc(maps.Keys(open), func(a, b string) int {
		return cmp.Compare(v.m.Tasks[a].Opened, v.m.Tasks[b].Opened)
	}) {
		if e := open[id].entry; st == "" || e.State == st {
			if more, err := fn(e); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

func (v view) Sift(st task.State, fn func(store.Entry) (bool, error)) error {
	type alike struct {
		action            terms.Action
		kind              task.Kind
		sender            store.Key
		external, message bool
	}
	passed := map[alike]bool{}
	return v.Open(st, func(e store.Entry) (bool, error) {
		like := alike{store.Short(e.Action), e.Kind, e.Sender, e.External, e.Message}
		if passed[like] {
			return true, nil
		}
		rest, err := fn(e)
		passed[like] = !rest
		return true, err
	})
}

func (v view) Pending(of map[store.Key]int) error {
	return v.Open("", func(e store.Entry) (bool, error) {
		if n, asked := of[e.Sender]; asked && e.Message {
			of[e.Sender] = n + 1
		}
		return true, nil
	})
}

func (v view) Starts(_ time.Time, fn func(store.Start)) error {
	for _, st := range v.m.starts {
		fn(st)
	}
	return v.m.fail("Starts")
}

func (v view) Counts() store.Counts { return v.m.clone().Counts.At(v.m.Head) }

func (v view) Lines(since time.Time, want func(raw []byte) bool) (store.Lines, error) {
	lines := v.m.clone().lines
	return func(fn func([]byte, *audit.Line) error) error {
		for i := range lines {
			raw := lines[i].Append(nil)
			if lines[i].Time.Before(since) || want != nil && !want(raw) {
				continue
			}
			if err := fn(raw, &lines[i]); err != nil {
				return err
			}
		}
		return nil
	}, v.m.fail("Lines")
}

func (v view) There(s store.Shelf) (func(id string) bool, error) {
	all := maps.Clone(v.m.shelf(s))
	return func(id string) bool { _, there := all[id]; return there }, v.m.fail("There")
}

func (v view) Look([]string, bool) error { return nil }

func (v view) Clock() (now, last time.Time, err error) {
	if n := len(v.m.lines); n > 0 {
		last = v.m.lines[n-1].Time
	}
	return now, last, v.m.fail("Clock")
}

func (v view) Back(fn func(audit.Line) bool, _ ...task.Event) error {
	for _, l := range slices.Backward(v.m.lines) {
		if !fn(l) {
			break
		}
	}
	return v.m.fail("Back")
}

func (v view) Lost() (string, error) { return "", v.m.fail("Lost") }
