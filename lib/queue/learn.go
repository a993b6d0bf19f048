package queue

import (
	"errors"
	"maps"
	"slices"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
)

// ReasonRestored is the reason of a task that a person is asked about because the queue was put
// back from a copy, and nobody knows whether it was done meanwhile.
const ReasonRestored = "restored_unknown"

// Fates are what the log of a queue says became of its tasks.
type Fates struct {
	Whole bool   // no line is missing: what it does not know never was, and what it has open had no end
	Head  string // hash of the last line; audit.Origin: there is none

	read     map[string]bool // the heads of queues that were put aside and read to the end
	tasks    map[string]*fate
	names    map[string]string // the other names of mails, and their tasks
	messages map[string]bool   // the Message-IDs of asks
	labels   map[string]label.Set
	left     map[string]int // how often a grant or a session can still be used, of those that were
}

// fate is what became of a task.
type fate struct {
	state   task.State
	change  task.Change
	starts  int
	learned bool // its end was learned from the queue that was put aside
}

// NewFates returns Fates that know nothing.
func NewFates() *Fates {
	return &Fates{
		tasks: map[string]*fate{}, names: map[string]string{}, messages: map[string]bool{},
		labels: map[string]label.Set{}, left: map[string]int{}, read: map[string]bool{},
	}
}

// Add adds a line of the log. Lines may be missing before it.
func (p *Fates) Add(l *audit.Line) {
	switch {
	case l.Grant != nil && (l.Event == audit.Revoked || l.Event == audit.Consumed):
		p.left[l.Grant.ID] = 0
	case l.Event == audit.SessionEnded && l.Session != nil:
		p.left[l.Session.ID] = 0
	case l.Session != nil:
		p.left[l.Session.ID] = l.Session.Left
	case l.Event == audit.Resumed && l.Result != "":
		p.read[l.Result] = true
	case l.Event == audit.Labelled:
		p.labels[l.Task] = l.Labels.Union(p.labels[l.Task]) // of a thing, the last line has all asks
	}
	if !l.Moves() || !task.ValidID(l.Task) {
		return
	}
	f := p.fate(l.Task)
	if l.Event == task.Pruned {
		f.state = l.From
		return
	}
	f.state, f.change = l.To, l.Change
	switch l.Event {
	case task.Learned:
		f.learned = true
	case task.Started:
		f.starts++
	case task.Added:
		if l.KnownAs != "" {
			p.names[l.KnownAs] = l.Task
		}
		if l.MessageID != "" {
			p.messages[l.Sender+"\x00"+l.MessageID] = true
		}
	}
}

func (p *Fates) fate(id string) *fate {
	f := p.tasks[id]
	if f == nil {
		f = &fate{}
		p.tasks[id] = f
	}
	return f
}

// find returns what became of a task, or of the mail under another name.
func (p *Fates) find(s *Stored) *fate {
	if f := p.tasks[s.Task.ID]; f != nil || s.Message == nil {
		return f
	}
	if name := s.takes(); name != "" {
		return p.tasks[p.names[name]]
	}
	return nil
}

// came reports whether a message of that Message-ID came to the queue, under whatever name.
func (p *Fates) came(s *Stored) bool {
	l := s.describe(audit.Line{})
	return s.Message != nil && p.messages[l.Sender+"\x00"+l.MessageID]
}

// Learning carries over to a queue that was restored what became of its tasks in the one that
// was put aside. Invariant: nothing that was ended there starts here, and nothing that may
// have been started there starts here before a person says yes once more.
type Learning struct {
	Was *Fates // of the queue that was put aside
	Is  *Fates // of this one
	By  string

	Ended, Asked int // tasks that were moved

	moved map[string]bool
}

// Head is what the line of the release names: of which queue it learned all. Of one without a
// line that can be read nothing is known, also the next time.
func (l *Learning) Head() string {
	if l.Was.Head == audit.Origin {
		return ""
	}
	return l.Was.Head
}

// verdict returns where an open task goes; "": it stays where it is.
func (l *Learning) verdict(s *Stored) (to task.State, change task.Change) {
	was, is := l.Was.find(s), l.Is.fate(s.Task.ID)
	change = s.Task.Change
	change.NotBefore = time.Time{}
	switch {
	case l.moved[s.Task.ID], is.learned && l.Is.read[l.Head()]: // by an earlier release from that queue: it is a matter of this one
		return "", change
	case was != nil && slices.Contains([]task.State{task.Completed, task.Rejected, task.Failed}, was.state):
		return was.state, was.change
	case was != nil && was.starts <= is.starts && l.Was.Whole, was == nil && l.Was.Whole && !l.Was.came(s):
		return "", change
	}
	change.Reason = ReasonRestored
	if was != nil && was.starts > is.starts {
		change.Attempts = max(change.Attempts, was.change.Attempts)
		change.Restarts = max(change.Restarts, was.change.Restarts)
		if s.Outward() {
			change.Reason = ReasonUnknownEffect
		}
	}
	return task.Awaiting, change
}

func (l *Learning) count(to task.State) {
	switch {
	case to == task.Awaiting:
		l.Asked++
	case to != "":
		l.Ended++
	}
}

// Step carries out a part. more means that there is more to do, in another Update. Nothing may
// start until the last one is done.
func (l *Learning) Step(tx *Tx, now time.Time) (more bool, err error) {
	for _, st := range []task.State{task.Running, task.Scheduled, task.Awaiting} {
		full, err := each(tx, st, func(e *store.Entry) (bool, error) { return l.learn(tx, st, e.ID, now) })
		if full || err != nil {
			return full, err
		}
	}
	if more, err := l.things(tx, now); more || err != nil {
		return more, err
	}
	return false, l.ahead(tx, now)
}

// things labels what is no task as it was labelled there.
func (l *Learning) things(tx *Tx, now time.Time) (more bool, err error) {
	for _, id := range slices.Sorted(maps.Keys(l.Was.labels)) {
		if l.Was.tasks[id] != nil || l.Is.tasks[id] != nil {
			continue
		}
		if err := Come(tx, []string{id}, originIn(l.Was.labels[id]), now); err != nil || len(tx.commit.Lines) >= maxMoves {
			return true, err
		}
	}
	return false, nil
}

// learn moves a task if the queue that was put aside knew more of it.
func (l *Learning) learn(tx *Tx, st task.State, id string, now time.Time) (moved bool, err error) {
	s, err := readable(tx, st, id)
	if s == nil || err != nil {
		return false, err
	}
	if err := s.label(tx, l.Was.labels[s.Root()], now); err != nil {
		return false, err
	}
	to, change := l.verdict(s)
	if to == "" {
		return false, nil
	}
	change.Since = now.UTC()
	line := s.move(task.Learned, to, change)
	line.By = l.By
	l.count(to)
	if l.moved == nil {
		l.moved = map[string]bool{}
	}
	l.moved[id] = true
	return true, tx.Move(line)
}

// ahead takes back what was said ahead, a grant or a session, if it was used or taken back there,
// or if that is not known.
func (l *Learning) ahead(tx *Tx, now time.Time) error {
	grants, err := GrantsOf(tx)
	open, failed := SessionsOf(tx)
	err = errors.Join(err, failed)
	used := func(id string, here int) bool {
		n, known := l.Was.left[id]
		return !l.Was.Whole || known && n < here
	}
	for i := range grants {
		if g := &grants[i]; used(g.ID, 1) {
			err = errors.Join(err, tx.Log(audit.Line{Time: now.UTC(), Event: audit.Revoked, By: l.By, Grant: g}))
		}
	}
	for i := range open {
		if s := &open[i]; used(s.ID, s.Left) {
			err = errors.Join(err, tx.Log(end(s, endRevoked, l.By, "", now.UTC())))
		}
	}
	return err
}

// Missing returns the tasks that waited or were scheduled in the queue that was put aside, and
// that this one does not have.
func (l *Learning) Missing() (ids []string) {
	for id, f := range l.Was.tasks {
		if f.state.Open() && l.Is.tasks[id] == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
