package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
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
	Findings   []trouble // the first of them
	Found      int       // all of them
	Unseen     []string  // what could not be looked at

	chart
	Partial         bool // there is a day of which not every refusal is listed
	Days, Senders   grid
	Trusts          grid
	Others          string // senders that are not named
	Causes          []reasoned
	Uncaused        int // of further causes
	Waits, States   grid
	Unknown, Limits string // which waits are left out, and where the caps are from
	Costs           []cost

	Head, Newest string // of the log; Newest is empty if it has no line
	Log          string // why the log can't be read
}

type (
	// grid is a table. Columns of numbers begin with "#".
	grid struct {
		Columns []string
		Rows    [][]string
	}
	waiter   struct{ Since, Age, Action, Whose, Subject, Command string }
	trouble  struct{ Code, Text, Do string }
	reasoned struct {
		Times                                int
		Reason, Rule, Identity, Whom, Advice string
	}
	cost struct {
		What     string
		Used, Of int
	}
)

// add adds a row of words and numbers.
func (g *grid) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	g.Rows = append(g.Rows, row)
}

// Share returns how much of a cap was used, in percent.
func (c cost) Share() float64 {
	if c.Of <= 0 {
		return 0
	}
	return min(100, 100*float64(c.Used)/float64(c.Of))
}

// sheet makes the page of what was read.
func (p *page) sheet() *sheet {
	m := p.past.month
	m.unlistedToday(&p.past.counts)
	s := &sheet{
		Headline: p.headline(), Waiting: p.waiters, WaitingAll: p.open.waiting.all, Costs: p.costs(),
		Made:   "Made " + p.now.UTC().Format(time.RFC3339) + ". It does not change by itself. Days and times are UTC.",
		Footer: "Written by pulse-queue " + cmdline.Version + " stats --html. It holds no script, no link and no picture, and loads nothing.",
		Head:   audit.Bare(p.past.counts.Head), Limits: "the defaults, because no policy was named",
		States: grid{Columns: []string{"state", "#tasks"}},
		Waits:  grid{Columns: []string{"wait", "#times", "#half within", "#nine in ten within", "#longest now"}},
	}
	if p.named {
		s.Limits = "those of the policy"
	}
	if !p.last.IsZero() {
		s.Newest = p.last.UTC().Format(time.RFC3339)
	}
	for _, st := range task.States {
		s.States.add(st, p.figures.counts[st])
	}
	s.wait("for a start, once it is due", &m.start, p.figures.start)
	s.wait("for a person's answer", &m.person, p.figures.look)
	if n := m.unknown + len(m.begun); n > 0 {
		s.Unknown = fmt.Sprintf("Left out: %s whose beginning is not known here.", count(n, "wait"))
	}
	if p.past.broken != nil {
		s.Log = escape.Message(p.past.broken.Error())
	}
	s.look(&p.health)
	s.draw(m.days[:])
	s.trust(m)
	s.who(m)
	s.why(p.past.refused)
	return s
}

func (s *sheet) wait(what string, w *waits, now time.Duration) {
	if w.n == 0 {
		s.Waits.add(what, 0, "–", "–", span(now))
		return
	}
	s.Waits.add(what, w.n, span(w.within(50)), span(w.within(90)), span(now))
}

// look takes over what health finds.
func (s *sheet) look(h *looked) {
	s.Found = len(h.findings)
	for _, f := range h.findings[:min(s.Found, sheetFindings)] {
		s.Findings = append(s.Findings, trouble{string(f.Code), clip(escape.Message(f.Text), sheetFinding), clip(escape.Message(f.Do), sheetFinding)})
	}
	if h.blind != "" {
		s.Unseen = append(s.Unseen, "health could not be looked at: "+escape.Message(h.blind))
	}
	if h.long {
		s.Unseen = append(s.Unseen, "The log is long: its chain was not checked. pulse-queue verify does.")
	}
}

// trust counts by level of trust and outcome. A level or outcome that this pulse does not
// know, because a newer one wrote the line, is left out of no sum.
func (s *sheet) trust(m *month) {
	s.Trusts.Columns = []string{"trust", "#allow", "#confirm", "#review", "#reject", "#all"}
	rows := map[terms.Trust][]int{}
	for k, n := range m.decided {
		k.trust = trustOf(k.trust)
		if rows[k.trust] == nil {
			rows[k.trust] = make([]int, len(terms.Outcomes)+1)
		}
		rows[k.trust][len(terms.Outcomes)] += n
		if i := slices.Index(terms.Outcomes, k.outcome); i >= 0 {
			rows[k.trust][i] += n
		}
	}
	for _, t := range append(slices.Clone(terms.TrustLevels), otherTrust) {
		if n := rows[t]; n != nil {
			s.Trusts.add(t, n[0], n[1], n[2], n[3], n[4])
		}
	}
}

// otherTrust stands for a level that this pulse does not know.
const otherTrust = "other"

func trustOf(t terms.Trust) terms.Trust {
	if t.Valid() {
		return t
	}
	return otherTrust
}

// who names the most frequent senders.
func (s *sheet) who(m *month) {
	s.Senders.Columns = []string{"sender", "trust", "#records", "#yes"}
	said := m.said().counts
	list, more := m.senders.top(sheetSenders)
	for _, one := range list {
		trust, sender, _ := strings.Cut(one.word, " ")
		yes := "–"
		if n := said[asker{sender: named(sender)}]; n != nil {
			yes = fmt.Sprintf("%d of %d", n[0], n[0]+n[1]+n[2])
		}
		s.Senders.add(escape.ASCII(cmp.Or(sender, "-")), trustOf(terms.Trust(trust)), one.times, yes)
	}
	switch {
	case m.senders.lossy:
		s.Others = fmt.Sprintf("And more than %d others. There are so many that the numbers are lower bounds.", more)
	case more > 0:
		s.Others = fmt.Sprintf("And %s.", count(more, "other"))
	}
}

// why names the most frequent causes.
func (s *sheet) why(t *tally) {
	s.Uncaused = t.others
	for i, one := range t.sorted() {
		if i >= sheetCauses {
			s.Uncaused += one.times
			continue
		}
		s.Causes = append(s.Causes, reasoned{
			one.times, shown(one.reason), shown(one.rule), shown(one.identity),
			one.whom(maxSenders, func(sender string) string { return clip(sender, 60) }), escape.Message(one.advice()),
		})
	}
}

// shown returns a word of the log.
func shown(text string) string { return clip(escape.ASCII(text), sheetWhose) }

// costs says what was spent of the caps.
func (p *page) costs() []cost {
	f, most := &p.figures, p.policy.Limits.MaxPerDay
	return []cost{
		{"asks", f.asks, most}, {"of these for external senders", f.others, half(most)}, {"effects", f.effects, most},
	}
}

// waiter tells of a task that waits for a person, as ask does; s is nil if its file can't be
// read.
func (p *page) waiter(e *timed, s *queue.Stored) waiter {
	w := waiter{
		Since: e.at.UTC().Format(time.RFC3339), Age: span(p.now.Sub(e.at)), Action: string(e.Action),
		Whose: "its file can't be read", Command: "pulse-queue show " + e.ID,
	}
	if s == nil {
		return w
	}
	w.Whose, w.Command = whose(s, sheetWhose), "pulse-approve yes "+e.ID
	if p.subjects {
		w.Subject = clip(escape.Line(topic(s)), sheetSubject)
	}
	return w
}

func atLeast(more bool, n int) string {
	if more {
		return "≥ " + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}
