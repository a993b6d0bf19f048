package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/shared/audit"
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

// sheet is all that stands on a page for people who look: numbers, and words that were
// escaped.
type sheet struct {
	made     time.Time
	headline string
	exports  []string // what to type before the commands

	states     []stated
	waiting    []waiter // those that have waited longest
	waitingAll int
	findings   []finding // the first of them
	found      int       // all of them
	unseen     []string  // what could not be looked at

	days     []daily // oldest first
	most     int     // on one day
	partial  bool    // there is a day of which not every refusal is listed
	trusts   []trusted
	senders  []seenOf
	others   int  // senders that are not named
	least    bool // their counts are lower bounds
	causes   []reasoned
	uncaused int // of further causes

	waits   []waited
	unknown int // waits that began before the first day, or are too many
	costs   []cost
	limits  string // where the caps are from

	head  string
	lines time.Time // of the last line; zero: there is none
	log   string    // why the log can't be read
}

type (
	stated struct {
		state task.State
		n     int
	}
	waiter struct {
		since, age     string
		action         terms.Action
		whose, subject string
		command        string
	}
	finding struct{ code, text, do string }
	trusted struct {
		trust    terms.Trust
		all      int
		outcomes []int // as terms.Outcomes
	}
	seenOf struct {
		sender string
		trust  terms.Trust
		times  int
	}
	reasoned struct {
		times                        int
		reason, rule, identity, whom string
		advice                       string
	}
	waited struct {
		what         string
		n            int
		median, most time.Duration // half, and nine in ten, waited no longer
		now          time.Duration // what waits longest now
	}
	cost struct {
		what     string
		used, of int
	}
)

// sheet makes the page of what was read.
func (p *page) sheet() *sheet {
	m := p.past.month
	m.unlistedToday(&p.past.counts)
	s := &sheet{
		made: p.now, headline: p.headline(), waiting: p.waiters, waitingAll: p.open.waiting.all,
		days: m.days[:], costs: p.costs(), unknown: m.unknown + len(m.begun),
		head: audit.Bare(p.past.counts.Head), lines: p.last, limits: "the defaults, because no policy was named",
	}
	for _, st := range task.States {
		s.states = append(s.states, stated{st, p.figures.counts[st]})
	}
	for _, d := range s.days {
		s.most, s.partial = max(s.most, d.all()), s.partial || d.more
	}
	s.waits = []waited{
		{"for a start, once it is due", m.start.n, m.start.within(50), m.start.within(90), p.figures.start},
		{"for a person's answer", m.person.n, m.person.within(50), m.person.within(90), p.figures.look},
	}
	if p.named {
		s.limits = "those of the policy"
	}
	if p.past.broken != nil {
		s.log = escape.Message(p.past.broken.Error())
	}
	s.look(&p.health)
	s.trust(m)
	s.who(&m.senders)
	s.why(p.past.refused)
	return s
}

// look takes over what health finds.
func (s *sheet) look(h *looked) {
	s.found = len(h.findings)
	for _, f := range h.findings[:min(s.found, sheetFindings)] {
		s.findings = append(s.findings, finding{string(f.Code), clip(escape.Message(f.Text), sheetFinding), clip(escape.Message(f.Do), sheetFinding)})
	}
	if h.blind != "" {
		s.unseen = append(s.unseen, "health could not be looked at: "+escape.Message(h.blind))
	}
	if h.long {
		s.unseen = append(s.unseen, "The log is long: its chain was not checked. pulse-queue verify does.")
	}
}

// trust counts by level of trust and outcome. A level or outcome that this pulse does not
// know, because a newer one wrote the line, is left out of no sum.
func (s *sheet) trust(m *month) {
	rows := map[terms.Trust]*trusted{}
	for k, n := range m.decided {
		k.trust = trustOf(k.trust)
		row := rows[k.trust]
		if row == nil {
			row = &trusted{trust: k.trust, outcomes: make([]int, len(terms.Outcomes))}
			rows[k.trust] = row
		}
		row.all += n
		if i := slices.Index(terms.Outcomes, k.outcome); i >= 0 {
			row.outcomes[i] += n
		}
	}
	for _, t := range append(slices.Clone(terms.TrustLevels), otherTrust) {
		if rows[t] != nil {
			s.trusts = append(s.trusts, *rows[t])
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
func (s *sheet) who(senders *frequent) {
	list, more := senders.top(sheetSenders)
	for _, one := range list {
		trust, sender, _ := strings.Cut(one.word, " ")
		s.senders = append(s.senders, seenOf{escape.ASCII(cmp.Or(sender, "-")), trustOf(terms.Trust(trust)), one.times})
	}
	s.others, s.least = more, senders.lossy
}

// why names the most frequent causes.
func (s *sheet) why(t *tally) {
	s.uncaused = t.others
	for i, one := range t.sorted() {
		if i >= sheetCauses {
			s.uncaused += one.times
			continue
		}
		s.causes = append(s.causes, reasoned{
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
		since: e.at.UTC().Format(time.RFC3339), age: span(p.now.Sub(e.at)), action: e.Action,
		whose: "its file can't be read", command: "pulse-queue show " + e.ID,
	}
	if s == nil {
		return w
	}
	w.whose, w.command = whose(s, sheetWhose), "pulse-approve yes "+e.ID
	if p.subjects {
		w.subject = clip(escape.Line(topic(s)), sheetSubject)
	}
	return w
}
