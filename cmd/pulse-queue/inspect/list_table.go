package inspect

import (
	"bufio"
	"slices"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/report"
	"pulse/lib/queue/store"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
)

// column is one of the table of list. Its width is the same in every listing, and nothing has to be
// kept for it. What is longer moves the rest of its line, or is cut at a terminal.
type column struct {
	name  string
	width int
	least int // how many columns a terminal has that shows it
	of    func(*queue.Stored, time.Time) string
}

var listColumns = []column{
	{"ID", 32, 0, func(s *queue.Stored, _ time.Time) string { return s.Task.ID }},
	{"STATE", 15, 0, func(s *queue.Stored, _ time.Time) string { return stateOf(&s.Task) }},
	{"KIND", 6, listWide, func(s *queue.Stored, _ time.Time) string { return cell(string(s.Task.Kind)) }},
	{"AGE", 8, 0, func(s *queue.Stored, now time.Time) string { return age(now, s.Task.Created) + later(&s.Task, now) }},
	{"TRUST", 22, 140, func(s *queue.Stored, _ time.Time) string { return cell(string(s.Identity.Trust)) }},
	{"ACTION", 16, 100, func(s *queue.Stored, _ time.Time) string { return cell(string(s.Decision.Action)) }},
	{"SENDER", 24, listRows, func(s *queue.Stored, _ time.Time) string { return person(s.Identity.Sender) }},
}

// refusedColumn stands before the subject where refused records are listed.
var refusedColumn = column{"REASON", 18, 0, func(s *queue.Stored, _ time.Time) string { return cell(s.Task.Reason) }}

// From so many columns on a terminal has room for all that a pipe is given, and for a task in one line.
const (
	listWide = 180
	listRows = 80
)

const (
	shortID   = 8  // how much of an id is shown where there is no room for it
	lastWidth = 60 // of a subject in a pipe
)

// listing prints the table of list.
type listing struct {
	*filter
	list  []column
	first table // the cells, and the subject if that has room
	under table // the subject below them, if it has none
	now   time.Time
}

// rows prints the head of the table, and returns what prints a row. A terminal of so many columns is
// given what has room there; 0: it is no terminal.
func (f *filter) rows(out *bufio.Writer, columns int, now time.Time) func(*queue.Stored) error {
	l := &listing{filter: f, list: slices.Clone(listColumns), now: now}
	room := columns
	if f.refused {
		room -= refusedColumn.width + 2
	}
	if columns > 0 && room < listWide/2 { // most senders fit this
		l.list[len(l.list)-1].width = 18
	}
	if f.refused {
		l.list = append(l.list, refusedColumn)
	}
	if columns > 0 {
		l.list = slices.DeleteFunc(l.list, func(c column) bool { return c.least > room })
	}
	if columns > 0 && room < listWide {
		l.list[0] = column{"ID", shortID, 0, func(s *queue.Stored, _ time.Time) string { return s.Task.ID[:shortID] }}
	}
	l.first.out, l.first.columns = out, columns
	names := make([]string, 0, len(l.list)+1)
	for _, c := range l.list {
		names, l.first.widths = append(names, c.name), append(l.first.widths, c.width)
	}
	if columns == 0 || room >= listRows {
		names = append(names, "SUBJECT")
	} else {
		l.under = table{out, []int{0}, columns}
	}
	l.first.row(names...)
	return l.row
}

func (l *listing) row(s *queue.Stored) error {
	cells := make([]string, 0, len(l.list)+1)
	for _, c := range l.list {
		cells = append(cells, c.of(s, l.now))
	}
	text := strings.Join(strings.Fields(escape.Line(subject(s))), " ")
	if l.under.out == nil {
		return l.last(&l.first, cells, s, text)
	}
	if s.Record != nil && !s.Identity.Effect() {
		text = person(s.Identity.Sender) + ": " + text
	}
	l.first.row(cells...)
	return l.last(&l.under, []string{""}, s, text)
}

// last prints a row that ends with a subject, which gives way to the notes.
func (l *listing) last(t *table, cells []string, s *queue.Stored, text string) error {
	notes := l.notes(s)
	switch left := t.columns - len(notes) - 2*len(cells); {
	case t.columns == 0:
		text = escape.Clip(text, lastWidth)
	default:
		for _, w := range t.widths {
			left -= w
		}
		text = escape.Clip(text, max(left, 0))
	}
	return t.row(append(cells, text+notes)...)
}

// stateOf returns the state of a task, or that it is none.
func stateOf(t *task.Task) string {
	if t.Refused {
		return "refused"
	}
	return string(t.State)
}

// later is how long a task waits until its time, or for which limit, after its age.
func later(t *task.Task, now time.Time) string {
	if t.Limit == "" || t.Until.Before(t.NotBefore) {
		return ahead(now, t.NotBefore)
	}
	return ahead(now, t.Until) + " by " + t.Limit
}

// notes is what the row of a task says after its subject, however long that is. Two blanks stand
// before it, as before each cell, and a subject has no two together, so it can't say that itself.
func (f *filter) notes(s *queue.Stored) (text string) {
	if by := s.Task.Partly; by != "" {
		text += "  (partly approved by " + escape.Clip(escape.Line(by), 24) + ")"
	}
	if f.beside[s.Task.ID] {
		text += "  (+draft)"
	}
	return text
}

// subject is what a task is about, for people: a mail's subject, the targets of an effect and its
// subject, a submitted text.
func subject(s *queue.Stored) string {
	text := report.Topic(s)
	switch {
	case s.Record == nil:
		return "the task file can't be read"
	case len(s.Target()) == 0:
		return text
	case text == "":
		return "to " + strings.Join(s.Target(), ", ")
	}
	return "to " + strings.Join(s.Target(), ", ") + ": " + text
}

// pair finds out which of the tasks listed are the drafts of effects that wait, so that both have one row.
func (f *filter) pair(s door.Store, lists []store.Listed) error {
	f.beside = map[string]bool{}
	waiting, others := []store.ID(nil), 0
	for _, l := range lists {
		if l.State == task.Awaiting {
			waiting = l.IDs
		} else {
			others += len(l.IDs)
		}
	}
	if others == 0 {
		return nil
	}
	return f.read(s, waiting, nil, func(v store.View, id string) (t queue.Stored, meant bool, err error) {
		if t, meant, err = f.load(v, task.Awaiting, id); err != nil || !meant || t.Task.State != task.Awaiting {
			return t, false, err
		}
		draft := t.DraftID()
		if draft == "" {
			return t, false, nil
		}
		st, err := v.Where(draft)
		if st != task.Awaiting && slices.Contains(f.states, st) {
			f.beside[draft], f.beside[id] = true, true
		}
		return t, false, err
	})
}
