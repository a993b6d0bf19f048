package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/approve/screen"
	"pulse/lib/approve/tty"
	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
)

// walk asks a person about everything that waits, the oldest first, one task at a
// time; what arrives meanwhile comes last.
func walk(c *cli.Context) error {
	p, err := partOf(c)
	if err != nil {
		return err
	}
	d, err := desk.Sit(c, desk.Yes)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := p.find(d); err != nil {
		return err
	}
	w := &walker{Desk: d, part: p, met: map[visit]bool{}, paged: map[string]bool{}, places: map[string]place{}}
	err = w.all()
	if len(w.met) == 0 {
		return err
	}
	if counted := w.tally(); err == nil {
		return counted
	}
	return err
}

// walker is one walk: what it has shown, and how it was answered.
type walker struct {
	*desk.Desk
	part              part // what it shows
	met               map[visit]bool
	paged             map[string]bool // approved with another task, on one page
	places            map[string]place
	at, of            int // how many were shown, and how many there are by now
	approved, refused int
	partly            int // yeses that were the first of two
}

// visit is one stay of a task in awaiting_review: one that was approved, started
// and came back is another.
type visit struct {
	id    string
	since int64
}

// all shows each task once. Quitting is not an error.
func (w *walker) all() error {
	for {
		ids, err := w.arrived()
		if err != nil {
			return err
		}
		if len(ids) == 0 && w.at == 0 {
			return w.Terminal.Tell(w.nothing())
		}
		if len(ids) == 0 {
			return nil
		}
		for _, id := range ids {
			w.at++
			err := w.come(id)
			if errors.Is(err, tty.ErrQuit) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}

// arrived returns the waiting tasks that were not shown yet, the oldest first.
func (w *walker) arrived() (ids []string, err error) {
	all, err := w.waiting()
	if err != nil {
		return nil, err
	}
	for _, stay := range all {
		if w.met[stay] {
			continue
		}
		if is, err := w.has(stay.id); err != nil {
			return nil, err
		} else if !is {
			continue
		}
		w.met[stay] = true
		w.of++
		ids = append(ids, stay.id)
	}
	return ids, nil
}

// waiting returns what waits and may be of the part, by what the agenda says, the oldest first.
func (w *walker) waiting() (all []visit, err error) {
	err = w.Queue.View(func(v store.View) error {
		all = nil
		return v.Open(task.Awaiting, func(e store.Entry) (bool, error) {
			if w.part.sender.May(&e) {
				all = append(all, visit{e.ID, e.Since.Unix()})
			}
			return true, nil
		})
	})
	return all, err
}

func (w *walker) nothing() string {
	if w.part.whole() {
		return "nothing waits for a person"
	}
	return "nothing" + escape.ASCII(w.part.String()) + " waits for a person"
}

// come shows one task and takes the answer to it.
func (w *walker) come(id string) error {
	shown, lines, err := w.Look(id)
	switch {
	case errors.Is(err, store.ErrUnknown):
		return w.Terminal.Tell(short(id) + " is gone")
	case errors.Is(err, store.ErrCorrupt):
		return w.Terminal.Tell(short(id) + " can't be read; pulse-queue verify says more")
	case err != nil:
		return err
	case shown.Task.State != task.Awaiting && w.paged[id]:
		return nil
	case shown.Task.State != task.Awaiting:
		return w.overtaken(&shown)
	}
	head := screen.Fact("waiting", "%d of %d, the oldest first", w.at, w.of)
	s := &showing{walker: w, task: &shown, pages: screen.NewPages(append([]string{head}, lines...))}
	return s.answer()
}

// overtaken says in one line what somebody else did to a task meanwhile.
func (w *walker) overtaken(shown *queue.Stored) error {
	id := shown.Task.ID
	var now task.State
	var last audit.Line
	err := w.Queue.View(func(v store.View) (err error) {
		if now, err = v.Where(id); err != nil {
			return err
		}
		return v.Back(func(l audit.Line) bool {
			if l.Task == id {
				last = l
			}
			return l.Task != id
		})
	})
	if err != nil {
		return err
	}
	if now == task.Awaiting {
		delete(w.met, visit{id, shown.Task.Since.Unix()}) // if that was in this second
		return w.Terminal.Tell(short(id) + " was answered meanwhile, and waits again: it comes once more")
	}
	by := last.By
	if by == "" {
		by = "pulse-queue"
	}
	text := fmt.Sprintf("%s: %s by %s meanwhile; it is %s now", short(id), last.Event, by, now)
	return w.Terminal.Tell(escape.Message(text))
}

// short names a task in the little room of a line.
func short(id string) string { return "task " + id[:min(len(id), 12)] }

// tally is the last line of a walk.
func (w *walker) tally() error {
	left, err := w.left()
	if err != nil {
		return err
	}
	return w.Terminal.Tell(fmt.Sprintf("%d approved%s, %d refused, %d left", w.approved, some(w.partly, "partly"), w.refused, left))
}

// some says how many there are of something besides, if there are any.
func some(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d %s", n, what)
}

// left returns how many tasks that the walk is about still wait.
func (w *walker) left() (n int, err error) {
	if !w.part.whole() {
		all, err := w.waiting()
		for _, stay := range all {
			is := false
			if is, err = w.has(stay.id); err != nil {
				break
			}
			if is {
				n++
			}
		}
		return n, err
	}
	err = w.Queue.View(func(v store.View) error {
		n = v.Counts().Tasks[task.Awaiting]
		return nil
	})
	return n, err
}

// reasonLine asks why, in one line, and returns the answer as it goes into the log:
// escaped, and cut at maxReason.
func (w *walker) reasonLine() (string, error) {
	line, err := w.Terminal.Ask(w.Context(), "why, in one line, for the log: ")
	if err != nil {
		return "", err
	}
	if r := []rune(strings.ToValidUTF8(line, "\ufffd")); len(r) > maxReason {
		line = string(r[:maxReason])
	}
	return escape.Message(line), nil
}

// maxReason bounds a reason, in characters as they are typed.
const maxReason = 200
