package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// The bounds of what is kept of the log for a page, whatever the log holds.
const (
	monthDays = 30
	maxEnds   = 100_000 // waits whose end is known, and not yet their beginning
)

// month is what the log says of the last monthDays, counted: all that stats, its page and a
// digest tell of more than a day. It is made by hear alone, from lines in the order newest first.
type month struct {
	now, from time.Time // from is when the first day begins
	left      int       // how many more lines may be counted
	oldest    time.Time // of those that were; zero: there was none

	days    [monthDays]daily // oldest first
	senders bySender
	start   waits // for a start, since the task was due
	person  waits // for a person's answer
	ends    map[store.ID]end
	unknown int // waits of which the beginning is not known
	people
}

// daily is what came on a day, UTC: asks and effects.
type daily struct {
	date                    string
	allowed, asked, refused int  // starts by itself, waits for a person, was rejected
	effects                 int  // of these
	more                    bool // so many were refused that not every one is listed
}

func (d *daily) all() int { return d.allowed + d.asked + d.refused }

// end is the end of a wait whose beginning was not heard yet.
type end struct {
	at    time.Time
	start bool // else for a person
}

// newMonth returns the days up to now. At most so many lines are counted.
func newMonth(now time.Time, lines int) *month {
	m := &month{now: now, left: lines, ends: map[store.ID]end{}, people: newPeople()}
	m.senders = bySender{as: "trust", most: maxPeople}
	for i := range m.days {
		m.days[i].date = now.UTC().AddDate(0, 0, i+1-monthDays).Format(time.DateOnly)
	}
	m.from = now.UTC().Truncate(day).AddDate(0, 0, 1-monthDays)
	return m
}

const day = 24 * time.Hour

// day returns the day of a time, or nil.
func (m *month) day(date string) *daily {
	i, there := slices.BinarySearchFunc(m.days[:], date, func(d daily, date string) int { return cmp.Compare(d.date, date) })
	if !there {
		return nil
	}
	return &m.days[i]
}

// hear counts a line of the log, and reports whether an older one may count.
func (m *month) hear(l *audit.Line) (more bool) {
	if m.left == 0 || l.Time.Before(m.from.Add(-disorder)) {
		return false
	}
	if m.left--; !l.Time.Before(m.from) {
		m.oldest = l.Time
		m.count(l)
	}
	return true
}

func (m *month) count(l *audit.Line) {
	m.people.count(l, m.now.Sub(l.Time))
	switch l.Event {
	case task.Added, task.Refused:
		m.came(l)
	case audit.Limited:
		if d := m.day(l.Time.UTC().Format(time.DateOnly)); d != nil {
			d.more = true
		}
	}
	if !l.Moves() {
		return
	}
	m.sawBeginning(l)
	switch l.Event {
	case task.Started:
		m.sawEnd(l, true)
	case task.Approved, task.Denied:
		m.sawEnd(l, false)
	}
}

// came counts a record that add took or refused.
func (m *month) came(l *audit.Line) {
	d := m.day(l.Time.UTC().Format(time.DateOnly))
	if d == nil {
		return
	}
	switch {
	case l.Event == task.Refused:
		d.refused++
	case l.To == task.Scheduled:
		d.allowed++
	default:
		d.asked++
	}
	if l.Kind == task.Effect {
		d.effects++
	}
	m.senders.add(asker{l.Sender, string(l.Trust)}, 0, 1)
}

// sawEnd notes a wait by the line that ends it.
func (m *month) sawEnd(l *audit.Line, start bool) {
	if len(m.ends) >= maxEnds {
		m.unknown++
		return
	}
	m.ends[store.IDOf(l.Task)] = end{l.Time, start}
}

// sawBeginning counts a wait, by the line that begins it, if its end is known.
func (m *month) sawBeginning(l *audit.Line) {
	id := store.IDOf(l.Task)
	e, known := m.ends[id]
	if !known {
		return
	}
	since := l.Time
	switch {
	case l.Change.NotBefore.Equal(store.Forever): // it waited for its agent
	case e.start && l.To == task.Scheduled:
		if l.Change.NotBefore.After(since) {
			since = l.Change.NotBefore
		}
		m.start.add(e.at.Sub(since))
	case !e.start && l.To == task.Awaiting:
		m.person.add(e.at.Sub(since))
	default:
		return
	}
	delete(m.ends, id)
}

// unlistedToday adds the refusals of the last day that had any and that have no line. Of
// earlier days nobody knows how many there were.
func (m *month) unlistedToday(counts *store.Counts) {
	d := m.day(counts.Day)
	if d != nil && counts.Refused > d.refused {
		d.refused, d.more = counts.Refused, false
	}
}

// waits are how long something waited, in the one unit that span shows: so there are few
// different ones, and what is said of them is exact.
type waits struct {
	n      int
	counts map[time.Duration]int
}

func (w *waits) add(d time.Duration) {
	if w.counts == nil {
		w.counts = map[time.Duration]int{}
	}
	w.n++
	w.counts[floor(d)]++
}

// floor cuts a time to what span shows of it.
func floor(d time.Duration) time.Duration {
	switch {
	case d < 0:
		return 0
	case d < time.Minute:
		return d.Truncate(time.Second)
	case d < time.Hour:
		return d.Truncate(time.Minute)
	case d < 48*time.Hour:
		return d.Truncate(time.Hour)
	}
	return d.Truncate(24 * time.Hour)
}

// within returns the shortest time that so many in a hundred did not wait longer than.
func (w *waits) within(percent int) time.Duration {
	sum := 0
	for _, d := range slices.Sorted(maps.Keys(w.counts)) {
		if sum += w.counts[d]; 100*sum >= percent*w.n {
			return d
		}
	}
	return 0
}
