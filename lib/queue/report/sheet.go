package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulse/lib/queue/health"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
)

// The bounds of what stands on a page, whatever the queue holds.
const (
	sheetSenders  = 20
	sheetCauses   = 15
	sheetFindings = 20
	sheetFinding  = 600 // columns of what health says of one thing
	sheetSubject  = 200 // columns of a subject
	sheetWhose    = 160 // columns that tell for whom a task is, and where it goes
)

// sheet is all that stands on a page for people who look, as page.html.tmpl names it: numbers,
// and words that were escaped.
type sheet struct {
	Headline, Made, Footer string
	Exports                []string // what to type before the commands

	Waiting    []waiter // those that have waited longest
	WaitingAll int
	Findings   []health.Finding // the first of them
	Found      int              // all of them
	Unseen     []string         // what could not be looked at

	Bars            []bar // what came day by day
	Most, Width     int   // on one day; of all bars
	Label           string
	First, Last     string // day
	Partial         bool   // there is a day of which not every refusal is listed
	Days, Senders   grid
	Causes          grid
	Uncaused        int // of further causes
	Waits, Costs    grid
	States          grid
	Unknown, Limits string // which waits are left out, and where the caps are from

	Head, Newest string // of the log; Newest is empty if it has no line
	Log          string // why the log can't be read
}

// grid is a table. Columns of numbers begin with "#".
type grid struct {
	Columns []string
	Rows    [][]string
}

// add adds a row of words and numbers.
func (g *grid) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	g.Rows = append(g.Rows, row)
}

// sheet makes the page of what was read.
func (p *Page) sheet() *sheet {
	m := p.past.month
	m.unlistedToday(&p.past.counts)
	s := &sheet{
		Headline: p.headline(), Waiting: p.open.waiters, WaitingAll: p.open.waiting.all,
		Made:   "Made " + p.Now.UTC().Format(time.RFC3339) + ". It does not change by itself. Days and times are UTC.",
		Footer: "Written by pulse-queue " + cmdline.Version + " stats --html. It holds no script, no link and no picture, and loads nothing.",
		Head:   audit.Bare(p.past.counts.Head), Limits: "the defaults, because no policy was named",
		States: grid{Columns: []string{"state", "#tasks"}},
		Costs:  grid{Columns: []string{"starts", "#used", "#most"}},
		Waits:  grid{Columns: []string{"wait", "#times", "#half within", "#nine in ten within", "#longest now"}},
	}
	if p.Named {
		s.Limits = "those of the policy"
	}
	if !p.past.newest.IsZero() {
		s.Newest = p.past.newest.UTC().Format(time.RFC3339)
	}
	for _, st := range task.States {
		s.States.add(st, p.figures.counts[st])
	}
	for _, one := range p.costs() {
		s.Costs.add(one.what, one.used, one.most)
	}
	s.addWait("for a start, once it is due", &m.start, p.figures.longestDue)
	s.addWait("for a person's answer", &m.person, p.figures.longestAwaiting)
	if n := m.unknown + len(m.ends); n > 0 {
		s.Unknown = fmt.Sprintf("Left out: %s whose beginning is not known here.", cmdline.Count(n, "wait"))
	}
	if p.past.broken != nil {
		s.Log = escape.Message(p.past.broken.Error())
	}
	s.addHealth(&p.health)
	s.addDays(m.days[:])
	s.addSenders(m)
	s.addCauses(p.past.refused)
	return s
}

func (s *sheet) addWait(what string, w *waits, now time.Duration) {
	if w.n == 0 {
		s.Waits.add(what, 0, "–", "–", duration.Span(now))
		return
	}
	s.Waits.add(what, w.n, duration.Span(w.within(50)), duration.Span(w.within(90)), duration.Span(now))
}

// addHealth takes over what health finds.
func (s *sheet) addHealth(h *healthFound) {
	s.Found = len(h.findings)
	s.Findings = h.findings[:min(s.Found, sheetFindings)]
	if h.blind != "" {
		s.Unseen = append(s.Unseen, "health could not be looked at: "+escape.Message(h.blind))
	}
	if h.long {
		s.Unseen = append(s.Unseen, "The log is long: its chain was not checked. pulse-queue verify does.")
	}
}

// addSenders names the most frequent senders.
func (s *sheet) addSenders(m *month) {
	s.Senders.Columns = []string{"sender", "trust", "#records", "#yes"}
	said := m.answersBySender().counts
	for _, one := range m.senders.top(sheetSenders) {
		yes := "–"
		if n := said[asker{sender: one.sender}]; n != nil {
			yes = fmt.Sprintf("%d of %d", n[0], n[0]+n[1]+n[2])
		}
		s.Senders.add(cmp.Or(escape.ASCII(one.sender), "-"), shown(one.as), one.all(), yes)
	}
}

// addCauses names the most frequent causes.
func (s *sheet) addCauses(t *tally) {
	s.Causes.Columns = []string{"reason", "rule, and what to do", "for whom", "#records"}
	s.Uncaused = t.others
	for i, one := range t.sorted() {
		if i >= sheetCauses {
			s.Uncaused += one.times
			continue
		}
		s.Causes.add(shown(one.reason), escape.Clip(one.String(), sheetFinding), leading(one.whom, digestSome, 60, inAll), one.times)
	}
}

// shown returns a word of the log.
func shown(text string) string { return escape.Clip(escape.ASCII(text), sheetWhose) }

// The chart in its own units. It is stretched to the width of the page, so that no text
// stands in it.
const (
	chartHeight = 100
	barWidth    = 10
	barGap      = 4
)

// bar is a day of the chart. Its parts differ in lightness and outline, not in colour alone.
type (
	bar struct {
		Title string
		Parts []part
	}
	part struct {
		Class        string
		X, Y, Height float64
	}
)

// addDays draws what came day by day, and says the same as a table.
func (s *sheet) addDays(days []daily) {
	sum := 0
	for i := range days {
		d := &days[i]
		s.Most, sum, s.Partial = max(s.Most, d.all()), sum+d.all(), s.Partial || d.more
	}
	s.Width, s.First, s.Last = len(days)*(barWidth+barGap), days[0].date, days[len(days)-1].date
	s.Label = fmt.Sprintf("%s, at most %d on one day; the table has the numbers", cmdline.Count(sum, "record"), s.Most)
	s.Days.Columns = strings.Split("day,#allowed,#for a person,#refused,#all,#of these effects", ",")
	for i, d := range days {
		b := bar{Title: fmt.Sprintf("%s: %d allowed, %d for a person, %s refused", d.date, d.allowed, d.asked, atLeast(d.more, d.refused))}
		top := float64(chartHeight)
		for j, n := range []int{d.allowed, d.asked, d.refused} {
			if n > 0 {
				height := float64(n) * chartHeight / float64(s.Most)
				top -= height
				class := []string{"allowed", "asked", "refused"}[j]
				b.Parts = append(b.Parts, part{class, float64(i*(barWidth+barGap) + barGap/2), top, height})
			}
		}
		s.Bars = append(s.Bars, b)
		s.Days.add(d.date, d.allowed, d.asked, atLeast(d.more, d.refused), atLeast(d.more, d.all()), d.effects)
	}
	slices.Reverse(s.Days.Rows)
}

func atLeast(more bool, n int) string {
	if more {
		return "≥ " + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}
