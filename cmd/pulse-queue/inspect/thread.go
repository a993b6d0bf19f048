package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/task"
)

// Thread tells the conversation that a task belongs to.
func Thread(c *cli.Context, s door.Store) error {
	id, err := whole(s, c.Args().First())
	if err == nil {
		id, err = began(s, id)
	}
	if err != nil {
		return desk.Unknown(err)
	}
	talk := conversation{first: id, known: map[string]*turn{}}
	if err := talk.read(s); err != nil {
		return err
	}
	out := cmdline.Output(c)
	for i, t := range talk.turns {
		if err := cmp.Or(c.Context.Err(), t.load(s)); err != nil {
			return err
		}
		lines := []string{string(t.json())}
		if !c.Bool("json") {
			lines = talk.tell(i, cmdline.Where(c))
		}
		for _, l := range lines {
			fmt.Fprintln(out, l)
		}
	}
	return out.Flush()
}

// began returns the task with which the conversation of a task began, by the log, which
// also knows tasks that were pruned.
func began(s store.Store, id string) (string, error) {
	seen := map[string]bool{}
	for next := id; next != "" && !seen[next]; {
		seen[next] = true
		lines, err := linesAbout(s, time.Time{}, next)
		if err != nil {
			return "", err
		}
		var last audit.Line
		err = lines(func(_ []byte, l *audit.Line) error {
			if l.Task == next && enters(l) {
				last = *l
			}
			return nil
		})
		switch {
		case err != nil:
			return "", err
		case last.Task == "" && next == id:
			return "", fmt.Errorf("%w: %s", store.ErrUnknown, id)
		case last.Task == "": // it belongs to another queue
			return id, nil
		}
		id, next = next, cmp.Or(last.Link.Thread, last.Parent)
	}
	return id, nil
}

// enters reports whether a line is the first one about a record.
func enters(l *audit.Line) bool { return l.Event == task.Added || l.Event == task.Refused }

// The bounds of what is told. What came first and what came last is not left out.
const (
	maxTurns = 200 // tasks
	maxTold  = 50  // lines of the log about a task
)

// conversation is an ask, what was proposed for it, and the answers to what was sent, with
// what was proposed for these, and so on.
type conversation struct {
	first string
	known map[string]*turn // all tasks of it; nil for those that are left out
	turns []*turn          // oldest first
	left  int              // how many are left out after the first
}

// read reads the log once. A task comes after the one that it belongs to.
func (c *conversation) read(s store.Store) error {
	lines, err := linesAbout(s, time.Time{}, "")
	if err != nil {
		return err
	}
	return lines(func(raw []byte, l *audit.Line) error {
		if l.Task == "" || l.Event == audit.Judged { // there may be many, and show tells them
			return nil
		}
		if t, ok := c.known[l.Task]; ok {
			t.add(raw, l)
		} else if enters(l) && c.has(l) {
			c.begin(l.Task).add(raw, l)
		}
		return nil
	})
}

// has reports whether a line brings a task that belongs to the conversation.
func (c *conversation) has(l *audit.Line) bool {
	if l.Task == c.first {
		return true
	}
	for _, id := range []string{l.Parent, l.Link.Answers, l.Link.Thread} {
		if _, ok := c.known[id]; ok {
			return true
		}
	}
	return false
}

func (c *conversation) begin(id string) *turn {
	t := &turn{}
	c.known[id] = t
	if c.turns = append(c.turns, t); len(c.turns) > maxTurns {
		c.known[c.turns[1].task.ID] = nil
		c.turns = slices.Delete(c.turns, 1, 2)
		c.left++
	}
	return t
}
