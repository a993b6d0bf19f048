package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/address"
	"pulse/lib/cmdline"
	"pulse/lib/fault"
	"pulse/lib/queue"
	"pulse/lib/task"
	"pulse/lib/terms"
)

// filter is which tasks list is asked for. An empty field asks for any.
type filter struct {
	states []task.State
	kind   task.Kind
	action terms.Action
	sender string // an address, or @domain

	newest, oldest time.Time // made at newest or earlier, after oldest
}

// oneOf is the usage error of a word that is in no list.
func oneOf[T ~string](flag, word string, list []T) error {
	return fault.Usagef("--"+flag+" is one of "+joined(list), "--%s: there is no %s %s", flag, flag, word)
}

func joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

func newFilter(c *cli.Context, now time.Time) (f filter, err error) {
	if f.states, err = listed(c); err != nil {
		return f, err
	}
	f.kind, f.action, f.sender = task.Kind(c.String("kind")), terms.Action(c.String("action")), c.String("sender")
	if kinds := []task.Kind{task.Ask, task.Effect}; f.kind != "" && !slices.Contains(kinds, f.kind) {
		return f, oneOf("kind", c.String("kind"), kinds)
	}
	if f.action != "" && !f.action.Valid() {
		return f, oneOf("action", c.String("action"), terms.Actions)
	}
	if domain, ok := strings.CutPrefix(f.sender, "@"); ok && !address.Domain(domain) {
		return f, fault.Usagef("--sender me@example.com, or --sender @example.com", "--sender: %s is no domain", f.sender)
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
		return f, fault.Usagef("", "nothing is older than %s and newer than %s", c.String("older-than"), c.String("newer-than"))
	}
	return f, nil
}

// listed returns the states asked for.
func listed(c *cli.Context) ([]task.State, error) {
	if c.IsSet("state") {
		if c.Bool("all") {
			return nil, fault.Usagef("", "--all and --state exclude each other")
		}
		var list []task.State
		for word := range strings.SplitSeq(c.String("state"), ",") {
			if !slices.Contains(task.States, task.State(word)) {
				return nil, oneOf("state", word, task.States)
			}
			list = append(list, task.State(word))
		}
		return list, nil
	}
	if c.Bool("all") {
		return task.States, nil
	}
	return slices.DeleteFunc(slices.Clone(task.States), func(s task.State) bool { return !s.Open() }), nil
}

// each calls row for every task that is asked for, oldest first in each state.
func (f *filter) each(v queue.View, row func(*queue.Stored) error) error {
	for _, st := range f.states {
		var err error
		if st.Open() {
			err = v.Open(func(e queue.Entry) (bool, error) {
				if e.State != st || !f.may(&e) {
					return true, nil
				}
				return true, f.load(v, &e, row)
			})
		} else {
			err = v.Scan(st, func(id string) (bool, error) {
				return true, f.load(v, &queue.Entry{ID: id, State: st}, row)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// may reports whether a task can be meant, as far as the agenda tells: what it rules
// out costs no read of a file.
func (f *filter) may(e *queue.Entry) bool {
	switch {
	case f.kind != "" && e.Kind != f.kind, f.action != "" && e.Action != f.action:
		return false
	case f.sender != "" && f.sender[0] != '@' && e.Sender != queue.KeyOf(f.sender):
		return false
	}
	// It was made before its last transition, which the agenda has in whole seconds.
	return f.oldest.IsZero() || e.Since.Add(time.Second).After(f.oldest)
}

// load reads a task and gives it to row if it is meant. Of one that can't be read
// only the agenda knows anything: what it can't answer counts as no.
func (f *filter) load(v queue.View, e *queue.Entry, row func(*queue.Stored) error) error {
	s, err := v.Load(e.State, e.ID)
	switch {
	case errors.Is(err, queue.ErrUnknown):
		return nil // removed by hand: verify says so
	case errors.Is(err, queue.ErrCorrupt):
		if f.blind(e) {
			return row(&s)
		}
		return nil
	case err != nil:
		return err
	case f.meant(&s):
		return row(&s)
	}
	return nil
}

// blind reports whether a task is meant whose file can't be read.
func (f *filter) blind(e *queue.Entry) bool {
	if strings.HasPrefix(f.sender, "@") || !f.newest.IsZero() || !f.oldest.IsZero() {
		return false
	}
	return e.State.Open() || f.kind == "" && f.action == "" && f.sender == ""
}

func (f *filter) meant(s *queue.Stored) bool {
	switch {
	case f.kind != "" && s.Task.Kind != f.kind, f.action != "" && s.Decision.Action != f.action:
		return false
	case f.sender != "" && !address.Listed([]string{f.sender}, s.Identity.Sender) && !address.Equal(f.sender, s.Identity.Sender):
		return false
	case !f.newest.IsZero() && s.Task.Created.After(f.newest):
		return false
	}
	return f.oldest.IsZero() || s.Task.Created.After(f.oldest)
}
