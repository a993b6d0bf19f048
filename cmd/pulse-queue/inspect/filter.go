package inspect

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// filter says which tasks list prints. An empty field admits all.
type filter struct {
	states []task.State
	kind   task.Kind
	action terms.Action
	sender queue.Sender

	whole   bool // with the labels and extracts, which the table does not show
	refused bool // also what was refused and is kept

	newest, oldest time.Time // made at newest or earlier, after oldest

	beside map[string]bool // the effects that wait and are listed with their drafts, and these drafts

	changed func(id string) bool // whether a task had changed after the tasks were listed; nil: not known
}

func newFilter(c *cli.Context, now time.Time) (f filter, err error) {
	if f.states, err = listed(c); err != nil {
		return f, err
	}
	f.refused, f.whole = c.Bool("refused"), c.Bool("json")
	if f.kind, err = cmdline.Choice(c, "kind", []task.Kind{task.Ask, task.Effect}); err != nil {
		return f, err
	}
	if f.action, err = cmdline.Choice(c, "action", terms.Actions); err != nil {
		return f, err
	}
	if f.sender, err = door.Sender(c); err != nil {
		return f, err
	}
	for flag, bound := range map[string]*time.Time{"older-than": &f.newest, "newer-than": &f.oldest} {
		if !c.IsSet(flag) {
			continue
		}
		d, err := cmdline.Age(c, flag)
		if err != nil {
			return f, err
		}
		*bound = now.Add(-d)
	}
	if !f.newest.IsZero() && !f.oldest.Before(f.newest) {
		return f, fault.Usagef("",
			"nothing is older than %s and newer than %s", c.String("older-than"), c.String("newer-than"))
	}
	return f, nil
}

// listed reads the flags that name states.
func listed(c *cli.Context) ([]task.State, error) {
	switch {
	case c.IsSet("state") && c.Bool("all"):
		return nil, fault.Usagef("", "--all and --state exclude each other")
	case c.IsSet("state"):
		return cmdline.Choices(c, "state", task.States)
	case c.Bool("all"):
		return task.States, nil
	case c.Bool("refused"):
		return nil, nil
	}
	return slices.DeleteFunc(slices.Clone(task.States), func(s task.State) bool { return !s.Open() }), nil
}

// each calls row for every task that the filter admits, oldest first in each state, and then
// for what was refused. All are listed as they were at one moment, and read some at a time, so
// that no other command waits for what row does.
func (f *filter) each(s door.Store, row func(*queue.Stored) error) error {
	lists, err := s.List(f.states, f.may)
	if err == nil {
		err = f.note(s, lists)
	}
	if err == nil && !f.whole {
		err = f.pair(s, lists)
	}
	for _, l := range lists {
		if err == nil {
			err = f.read(s, l.IDs, row, func(v store.View, id string) (queue.Stored, bool, error) {
				return f.load(v, l.State, id)
			})
		}
	}
	if err != nil || !f.refused {
		return err
	}
	ids, err := refusedIDs(s)
	if err != nil {
		return err
	}
	return f.read(s, ids, row, f.loadRefused)
}

// note notes which tasks have changed, if more open ones are listed than have ended: for most of
// those nothing is kept, and to find that out for each takes a third of the time.
func (f *filter) note(s door.Store, lists []store.Listed) error {
	return s.View(func(v store.View) (err error) {
		more := 0
		for _, l := range lists {
			if l.State.Open() {
				more += len(l.IDs)
			}
		}
		for st, n := range v.Counts().Tasks {
			if !st.Open() {
				more -= n
			}
		}
		if more > 0 {
			f.changed, err = v.There(store.Meta)
		}
		return err
	})
}

// settled is a view in which no changes are looked for of tasks that have none.
type settled struct {
	store.View
	changed func(id string) bool
}

func (v settled) Get(s store.Shelf, key string) (store.Item, error) {
	if s == store.Meta && v.changed != nil && !v.changed(key) {
		return store.Item{}, store.ErrUnknown
	}
	return v.View.Get(s, key)
}

// loader reads a task or a refused record, and reports whether the filter admits it.
type loader func(v store.View, id string) (queue.Stored, bool, error)

// read calls row for those of the ids that the filter admits.
func (f *filter) read(s door.Store, left []store.ID, row func(*queue.Stored) error, load loader) (err error) {
	some := make([]queue.Stored, 0, min(len(left), someTasks))
	for len(left) > 0 && err == nil {
		some, left, err = someOf(s, left, some[:0], load)
		for i := range some {
			if err == nil {
				err = row(&some[i])
			}
		}
	}
	return err
}

// The bounds of what is read at a time.
const (
	someTasks = 64
	someBytes = 1 << 20
)

// someOf reads some of what the ids name, into the memory of into, and returns the ids it
// did not come to.
func someOf(
	s door.Store, ids []store.ID, into []queue.Stored, load loader,
) (some []queue.Stored, left []store.ID, err error) {
	err = s.View(func(v store.View) error {
		some, left = into, ids
		next := make([]string, 0, someTasks)
		for _, id := range ids[:min(len(ids), someTasks)] {
			next = append(next, id.String())
		}
		if err := v.Look(next, true); err != nil {
			return err
		}
		for size := 0; len(left) > 0 && len(some) < someTasks && size < someBytes; left = left[1:] {
			t, meant, err := load(v, left[0].String())
			if err != nil {
				return err
			}
			if meant {
				some, size = append(some, t), size+len(t.File)
			}
		}
		return nil
	})
	return some, left, err
}

// may reports whether the filter may admit a task, by what the agenda says. A task that it
// rules out costs no read of a file.
func (f *filter) may(e *store.Entry) bool {
	switch {
	case f.kind != "" && e.Kind != f.kind, f.action != "" && !e.Is(f.action):
		return false
	case !f.sender.May(e):
		return false
	}
	// It was made before its last transition, which the agenda has in whole seconds.
	return f.oldest.IsZero() || e.Since.Add(time.Second).After(f.oldest)
}

// load reads a task, and reports whether the filter admits it. The task may have made a
// transition since it was listed. If its file can't be read, only the agenda knows anything
// about it, and may has asked that; what the agenda could not answer counts as no.
func (f *filter) load(v store.View, st task.State, id string) (t queue.Stored, meant bool, err error) {
	read := queue.LoadUnlabelled
	if f.whole {
		read = queue.Load
	}
	t, err = read(settled{v, f.changed}, st, id)
	if errors.Is(err, store.ErrUnknown) {
		if st, err = v.Where(id); err != nil || !slices.Contains(f.states, st) {
			return t, false, err // it was pruned, is not asked for, or was removed by hand: verify says so
		}
		t, err = read(v, st, id)
	}
	if errors.Is(err, store.ErrCorrupt) {
		return t, f.blind(st), nil
	}
	if err == nil && f.whole {
		t.Extract, err = queue.ExtractOf(v, id)
	}
	return t, err == nil && f.meant(&t), err
}

// blind reports whether the filter admits a task whose file can't be read.
func (f *filter) blind(st task.State) bool {
	if strings.HasPrefix(string(f.sender), "@") || !f.newest.IsZero() || !f.oldest.IsZero() {
		return false
	}
	return st.Open() || f.kind == "" && f.action == "" && f.sender == ""
}

func (f *filter) meant(s *queue.Stored) bool {
	switch {
	case f.kind != "" && s.Task.Kind != f.kind, f.action != "" && s.Decision.Action != f.action:
		return false
	case !f.sender.Is(s):
		return false
	case !f.newest.IsZero() && s.Task.Created.After(f.newest):
		return false
	}
	return f.oldest.IsZero() || s.Task.Created.After(f.oldest)
}

// refusedIDs returns the ids of the refused records that are kept, oldest first. A snapshot has
// none of them: an empty list would say that nothing was refused.
func refusedIDs(s door.Store) (ids []store.ID, err error) {
	if s.Writable() != nil {
		return nil, fault.Usagef("name the queue it was made of", "a snapshot has no refused records")
	}
	err = s.View(func(v store.View) error {
		ids = ids[:0]
		return v.Each(store.Refused, func(id string, _ time.Time) (bool, error) {
			ids = append(ids, store.IDOf(id))
			return true, nil
		})
	})
	return ids, err
}

// loadRefused is load for a refused record. One that is gone was forgotten meanwhile.
func (f *filter) loadRefused(v store.View, id string) (s queue.Stored, meant bool, err error) {
	s, err = queue.RefusedOf(v, id)
	switch {
	case errors.Is(err, store.ErrCorrupt):
		return s, f.blind(task.Rejected), nil
	case errors.Is(err, store.ErrUnknown):
		return s, false, nil
	}
	return s, err == nil && f.meant(&s), err
}
