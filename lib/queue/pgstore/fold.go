package pgstore

import (
	"bytes"
	"slices"
	"sort"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/entry"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// fold is what the tables of a queue have to hold after a log, found out by queue.Changes and
// not by the server's functions: verify compares the two, and a copy fills the tables from it.
type fold struct {
	seq    int64
	head   string
	counts queue.Counts
	tasks  map[string]*taskRow
	things map[string]*thingRow // by shelf/key
	starts map[string]*started  // by the number of the line
	byTime []*started           // those of starts
	jumped time.Time            // of the clock's last jump, until a person vouches for the clock
	nonces map[string]int64
	spent  map[string][]string // by task: the nonces that its running start has spent
}

// taskRow is a row of the table task.
type taskRow struct {
	added, n, seq                int64
	state                        task.State
	kind, action, digest, opened string // opened: its entry while it is open
}

// thingRow is a row of the table thing.
type thingRow struct {
	seq    int64
	rest   []string
	yes    *approval.Approval
	digest string // of the bytes that were staged; empty: there are none
	lines  []audit.Proposed
}

// started is a row of the table start.
type started struct {
	seq, at int64
	entry   string
}

func newFold() *fold {
	return &fold{
		head: audit.Origin, counts: queue.Counts{Tasks: map[task.State]int{}}, tasks: map[string]*taskRow{},
		things: map[string]*thingRow{}, starts: map[string]*started{}, nonces: map[string]int64{}, spent: map[string][]string{},
	}
}

// line takes the next line of the log.
func (f *fold) line(raw []byte, l *audit.Line) {
	f.seq++
	f.head = audit.Hash(raw)
	f.counts.Count(l)
	f.spend(l)
	for _, c := range queue.Changes(l) {
		f.change(l, &c)
	}
	f.move(l)
}

// move carries out what a line changes in its task.
func (f *fold) move(l *audit.Line) {
	t := f.tasks[l.Task]
	switch {
	case l.Event == audit.ClockJumped:
		for _, s := range f.starts {
			s.at = min(s.at, l.Time.Unix())
		}
		f.jumped = l.Time
		return
	case l.Event == audit.ClockConfirmed:
		f.jumped = time.Time{}
		return
	case l.Event == task.Added:
		t = &taskRow{added: f.seq, kind: string(l.Kind), action: string(l.Action), digest: l.Digest}
		f.tasks[l.Task] = t
	case l.Event == task.Pruned:
		delete(f.tasks, l.Task)
		return
	case t == nil || !l.Moves() && l.Event != audit.Resurfaced:
		return
	}
	e := queue.EntryOf(l)
	if e.State.Open() && !t.state.Open() {
		t.n = f.seq
	}
	t.seq, t.state, t.opened = f.seq, e.State, ""
	if e.State.Open() {
		t.opened = string(entry.Append(nil, &e))
	}
	if l.Event == task.Started {
		f.start(l.Time, t.opened)
	}
}

// start keeps a start, and drops those of two days before it, unless the clock may be wrong.
func (f *fold) start(now time.Time, entry string) {
	search := func(at int64) int {
		return sort.Search(len(f.byTime), func(i int) bool { return f.byTime[i].at >= at })
	}
	if now.Sub(f.jumped) >= time.Hour {
		old := search(now.Unix() - 2*86400)
		for _, s := range f.byTime[:old] {
			delete(f.starts, text(s.seq))
		}
		f.byTime = f.byTime[old:]
	}
	s := &started{f.seq, now.Unix(), entry}
	f.starts[text(f.seq)], f.byTime = s, slices.Insert(f.byTime, search(s.at+1), s)
}

// change carries out what a line changes in a thing.
func (f *fold) change(l *audit.Line, c *queue.Change) {
	here := at(c.Shelf, c.Key)
	old := f.things[here]
	switch {
	case slices.Contains(task.States, task.State(c.Shelf)) || c.Shelf == queue.Meta:
	case c.From != "":
		from := at(c.From, c.Key)
		if delete(f.things, here); f.things[from] != nil {
			f.things[here] = f.things[from]
			delete(f.things, from)
		}
	case c.Less != "":
		if old == nil {
			return
		}
		old.rest = slices.DeleteFunc(slices.Clone(old.rest), func(id string) bool { return id == c.Less })
		if len(old.rest) == 0 {
			delete(f.things, here)
		}
	case c.Gone():
		delete(f.things, here)
	case c.Shelf == queue.Approvals:
		f.approve(l, c)
	default:
		f.things[here] = &thingRow{seq: f.seq, rest: restOf(l, c), digest: c.Digest, lines: c.Lines, yes: l.Approval}
	}
}

// approve keeps an approval. One that the task had before keeps the line of the person who
// gave it, so that it is still known who that was.
func (f *fold) approve(l *audit.Line, c *queue.Change) {
	here := at(queue.Approvals, c.Key)
	for _, p := range []string{here, at(queue.Spent, c.Key)} {
		if old := f.things[p]; old != nil && !slices.Contains([]task.Event{task.Approved, task.Requeued}, l.Event) && bytes.Equal(old.yes.Append(nil), c.Bytes) {
			f.things[here] = old
			return
		}
	}
	f.things[here] = &thingRow{seq: f.seq, yes: l.Approval}
}

// restOf returns what the server notes of a line in a list: proposals, or labels.
func restOf(l *audit.Line, c *queue.Change) (rest []string) {
	for i := range c.Lines {
		rest = append(rest, c.Lines[i].ID)
	}
	if c.Shelf == queue.Labels {
		for i := range l.Labels {
			rest = append(rest, string(l.Labels[i].Label))
		}
	}
	return rest
}

// spend notes what can be used once.
func (f *fold) spend(l *audit.Line) {
	switch {
	case l.Event == audit.Granted && l.Grant != nil:
		f.nonces[l.Grant.ID] = f.seq
	case l.Event == audit.SessionOpened && l.Session != nil:
		f.nonces[l.Session.ID] = f.seq
	case l.Event == task.Restored:
		for _, n := range f.spent[l.Task] {
			delete(f.nonces, n)
		}
	case l.Event == task.Started:
		t := f.tasks[l.Task]
		outward := t != nil && t.kind == string(task.Effect) && terms.Action(t.action).Outward()
		for _, s := range []queue.Shelf{queue.Approvals, queue.Partly} {
			if old := f.things[at(s, l.Task)]; outward && old != nil && old.yes.Level == approval.Signature && len(old.yes.Grants) == 0 {
				f.nonces[old.yes.Nonce], f.spent[l.Task] = f.seq, append(f.spent[l.Task], old.yes.Nonce)
			}
		}
		return
	}
	if l.Moves() {
		delete(f.spent, l.Task)
	}
}
