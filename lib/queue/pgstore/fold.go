package pgstore

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"time"

	"pulse/lib/queue/entry"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// fold is what the tables of a queue have to hold after a log, found out by store.Fold and not by
// the server's functions: verify compares the two, and a copy fills the tables from it.
type fold struct {
	*store.Fold[string, *thing]
	starts map[string]*started // by the number of the line
	byTime []*started          // those of starts
	jumped time.Time           // of the clock's last jump, until a person vouches for the clock
	nonces map[string]int64
	spent  map[string][]string // by task: the nonces that its running start has spent
}

// thing is what the fold keeps of a thing: of most a row of the table thing, of the file of a task
// what its row has of the line that added it, and of an open task its entry.
type thing struct {
	seq                 int64
	labels              []string
	yes                 *approval.Approval
	digest              string // of the bytes that were staged; empty: there are none
	lines               []audit.Proposed
	kind, action, entry string
}

// started is a row of the table start.
type started struct {
	seq, at int64
	entry   string
}

func newFold() *fold {
	f := &fold{starts: map[string]*started{}, nonces: map[string]int64{}, spent: map[string][]string{}}
	f.Fold = store.NewFold(strings.Clone, f.keep) // a part of a line would keep the line in memory
	return f
}

// line takes the next line of the log.
func (f *fold) line(raw []byte, l *audit.Line) {
	f.spend(l)
	f.Add(raw, l)
	switch l.Event {
	case audit.ClockJumped:
		for _, s := range f.starts {
			s.at = min(s.at, l.Time.Unix())
		}
		f.jumped = l.Time
	case audit.ClockConfirmed:
		f.jumped = time.Time{}
	case task.Started:
		if e := f.Things[store.Agenda][l.Task]; e != nil {
			f.start(l.Time, e.entry)
		}
	}
}

// keep returns what is kept of a thing. An approval that the task had before keeps the line of the
// person who gave it, so that it is still known who that was.
func (f *fold) keep(l *audit.Line, c *store.Change) *thing {
	switch t := (&thing{seq: f.Seq}); c.Shelf {
	case store.Agenda:
		e := store.EntryOf(l)
		t.entry = string(entry.Append(nil, &e))
		return t
	case store.Approvals:
		for _, s := range []store.Shelf{store.Approvals, store.Spent} {
			answered := slices.Contains([]task.Event{task.Approved, task.Requeued}, l.Event)
			if old := f.Things[s][c.Key]; old != nil && !answered && bytes.Equal(old.yes.Append(nil), c.Bytes) {
				return old
			}
		}
		t.yes = l.Approval
		return t
	case store.Labels:
		for i := range l.Labels {
			t.labels = append(t.labels, string(l.Labels[i].Label))
		}
		return t
	default:
		t.digest, t.kind, t.action = strings.Clone(c.Digest), strings.Clone(string(l.Kind)), strings.Clone(string(l.Action))
		t.lines, t.yes = c.Lines, l.Approval
		return t
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
	s := &started{f.Seq, now.Unix(), entry}
	f.starts[text(f.Seq)], f.byTime = s, slices.Insert(f.byTime, search(s.at+1), s)
}

// spend notes what can be used once.
func (f *fold) spend(l *audit.Line) {
	switch {
	case l.Event == audit.Granted && l.Grant != nil:
		f.nonces[l.Grant.ID] = f.Seq + 1
	case l.Event == audit.SessionOpened && l.Session != nil:
		f.nonces[l.Session.ID] = f.Seq + 1
	case l.Event == task.Restored:
		for _, n := range f.spent[l.Task] {
			delete(f.nonces, n)
		}
	case l.Event == task.Started:
		t := f.Tasks[l.Task].File
		outward := t != nil && t.kind == string(task.Effect) && terms.Action(t.action).Outward()
		for _, s := range []store.Shelf{store.Approvals, store.Partly} {
			if old := f.Things[s][l.Task]; outward && old != nil && old.yes.Level == approval.Signature && len(old.yes.Grants) == 0 {
				f.nonces[old.yes.Nonce], f.spent[l.Task] = f.Seq+1, append(f.spent[l.Task], old.yes.Nonce)
			}
		}
		return
	}
	if l.Moves() {
		delete(f.spent, l.Task)
	}
}
