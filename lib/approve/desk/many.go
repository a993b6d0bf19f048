package desk

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/screen"
	"pulse/lib/queue"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// Named returns what a command line names: tasks by id, or with --sender those of a sender.
func Named(c *cli.Context) (ids []string, sender queue.Sender, err error) {
	ids = c.Args().Slice()
	if sender, err = door.Sender(c); err != nil {
		return nil, "", err
	}
	switch {
	case slices.Contains(ids, ""):
		err = fault.Usagef("", "an argument is empty: want ID...")
	case sender == "" && len(ids) == 0:
		err = fault.Usagef("pulse-queue list", "missing argument: want ID... or --sender ADDR")
	case sender != "" && len(ids) > 0:
		err = fault.Usagef("leave one of them out", "--sender and an id exclude each other")
	}
	return ids, sender, err
}

// Of returns the ids of a sender's tasks in these states. A file that can't be read says
// nothing of its sender.
func (d *Desk) Of(sender queue.Sender, states ...task.State) (ids []string, err error) {
	lists, err := d.Queue.List(states, sender.May)
	for _, l := range lists {
		for _, id := range l.IDs {
			if err != nil {
				return nil, err
			}
			var is bool
			if is, err = d.IsOf(sender, l.State, id.String()); is {
				ids = append(ids, id.String())
			}
		}
	}
	return ids, err
}

// IsOf reports whether a task is one of a sender's and still in a state.
func (d *Desk) IsOf(sender queue.Sender, st task.State, id string) (is bool, err error) {
	err = d.Queue.View(func(v store.View) error {
		s, err := queue.Load(v, st, id)
		is = err == nil && sender.Is(&s)
		return err
	})
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCorrupt) {
		err = nil
	}
	return is, err
}

// All shows tasks, each of them whole, and asks once for all that may stand on one page, or for as
// many of these at a time as fill mostTogether; then it asks about each of those that q wants
// alone. It asks nothing if one of the tasks is unknown, or if there is nothing to ask about it.
// What is no longer what was shown is left and named.
func (d *Desk) All(ids []string, q Question) error {
	pages, err := d.split(ids, q)
	if err != nil {
		return Unknown(err)
	}
	for i, page := range pages {
		if len(page) == 1 {
			err = d.Each(page, q)
		} else {
			_, err = d.Together(page, q)
		}
		if err != nil {
			if i > 0 && q.Pages {
				cmdline.Note(d.c, "%d of %d pages were answered before that, and stay so", i, len(pages))
			}
			return err
		}
		if err := d.Note(page...); err != nil {
			return err
		}
	}
	return nil
}

// mostTogether is how many bytes of sheets are shown before a code is asked for, if there are
// more: a sender chooses how much there is to show, and all of it is in the memory until then.
const mostTogether = 1 << 20

// split returns the pages on which tasks are asked about, each task once.
func (d *Desk) split(ids []string, q Question) (list [][]string, err error) {
	var pages []page
	met := map[string]bool{}
	for _, id := range ids {
		if id, err = queue.Whole(d.Queue, id); err != nil {
			return nil, err
		}
		if met[id] {
			continue
		}
		met[id] = true
		one, err := d.page(id, q)
		if err != nil {
			return nil, err
		}
		pages = d.sort(pages, one)
	}
	for _, alone := range []bool{false, true} {
		for i := range pages {
			if pages[i].alone == alone {
				list = append(list, pages[i].ids)
			}
		}
	}
	return list, nil
}

// Together shows several tasks as one text, takes one code for them, and records an answer
// to each; then it does so with those for which there was no room. It returns to how many there
// was an answer. Where q keeps to pages, none is recorded unless all still are what was shown.
func (d *Desk) Together(ids []string, q Question) (done int, err error) {
	var left []string
	for at := 0; at < len(ids); {
		var n int
		var not []string
		var writes []writing
		all, lines, err := d.sheets(ids, at, q)
		if err == nil {
			err = d.Confirm(lines, several(q.Verb, len(all)))
		}
		if err == nil {
			writes, err = d.writes(all, q)
		}
		if err == nil && q.Pages {
			err = d.unchanged(all)
		}
		if err == nil {
			n, not, err = d.recordAll(all, q, writes)
		}
		done, left, at = done+n, append(left, not...), at+len(all)
		if err != nil && done > 0 {
			cmdline.Note(d.c, "%d of %d tasks were answered before that, and stay so", done, len(ids))
		}
		if err != nil {
			return done, err
		}
	}
	if len(left) == 0 {
		return done, nil
	}
	return done, fault.Failedf("pulse-queue show "+left[0], "%d of %d tasks are not what was shown any more", len(left), len(ids))
}

// several returns the verb of a question about so many tasks.
func several(verb string, tasks int) string {
	if tasks == 1 {
		return verb
	}
	return strings.Replace(verb, "this", fmt.Sprintf("all %d of these", tasks), 1)
}

// sheets returns the sheets of tasks as one text: of those from a place on, until they fill
// mostTogether.
func (d *Desk) sheets(ids []string, at int, q Question) (all []queue.Stored, lines []string, err error) {
	for size := 0; at < len(ids) && size < mostTogether; at++ {
		shown, sheet, err := d.sheet(ids[at], q)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, shown)
		lines = append(append(lines, screen.Fact("shown", "%d of %d", at+1, len(ids))), sheet...)
		lines = append(lines, "")
		for _, l := range sheet {
			size += len(l)
		}
	}
	return all, lines, nil
}

// writes makes the answers to several tasks, all before one is recorded: each signature may wait for a
// person's touch.
func (d *Desk) writes(all []queue.Stored, q Question) (list []writing, err error) {
	for i := range all {
		w, err := d.write(&all[i], q)
		if err == nil {
			err = d.Context().Err()
		}
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, nil
}

// recordAll records an answer to each of several tasks, and returns to how many it did, and
// those that are not what was shown any more. Each is an update of its own, so that nobody
// waits for the lock until all are done.
func (d *Desk) recordAll(all []queue.Stored, q Question, writes []writing) (done int, left []string, err error) {
	for i := range all {
		id := all[i].Task.ID
		if err := d.Context().Err(); err != nil {
			return done, left, err
		}
		err := d.put(&all[i], q, writes[i])
		if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrUnknown) || errors.Is(err, consent.ErrNotGood) {
			cmdline.Note(d.c, "task %s was left as it is: %s", id, err)
			left = append(left, id)
			continue
		}
		if err != nil {
			return done, left, err
		}
		done++
	}
	return done, left, nil
}
