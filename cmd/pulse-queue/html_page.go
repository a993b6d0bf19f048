package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pulse/lib/queue/markup"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/terms"
)

// html lays the page out. What needs a person comes first.
func (s *sheet) html() []byte {
	w := &paper{markup.New("pulse: the queue, on one page", sheetStyle)}
	w.Open("header")
	w.Put("h1", "pulse")
	w.Put("p", s.headline, markup.Class("headline"))
	w.note(fmt.Sprintf("Made %s. It does not change by itself. Days and times are UTC.", s.made.UTC().Format(time.RFC3339)))
	w.End()
	w.Open("main")
	s.waitingTo(w)
	s.healthTo(w)
	s.daysTo(w)
	w.Open("div", markup.Class("pair"))
	s.sendersTo(w)
	s.trustsTo(w)
	w.End()
	s.causesTo(w)
	w.Open("div", markup.Class("pair"))
	s.waitsTo(w)
	s.costsTo(w)
	w.End()
	w.Open("div", markup.Class("pair"))
	s.statesTo(w)
	s.logTo(w)
	w.End()
	w.End()
	w.Open("footer")
	w.note("Written by pulse-queue " + cmdline.Version + " stats --html. It holds no script, no link and no picture, and loads nothing.")
	w.End()
	return w.Bytes()
}

// paper is a page with the parts that pages of pulse are made of.
type paper struct{ *markup.Page }

// section begins a section; End ends it.
func (w *paper) section(title string) {
	w.Open("section")
	w.Put("h2", title)
}

func (w *paper) note(text string) { w.Put("p", text, markup.Class("note")) }

// code writes what to type. A click selects all of it.
func (w *paper) code(command string) {
	w.Open("p", markup.Class("type"))
	w.Put("code", command)
	w.End()
}

// more says that there are n others, and what lists them.
func (w *paper) more(n int, command string) {
	if n > 0 {
		w.note(fmt.Sprintf("And %d more:", n))
		w.code(command)
	}
}

// word writes a word of the contract, which may be broken after each of its parts.
func (w *paper) word(text string) {
	for i, part := range strings.SplitAfter(text, "_") {
		if i > 0 {
			w.Void("wbr")
		}
		w.Text(part)
	}
}

// head writes the head of a table. Columns of numbers begin with "#".
func (w *paper) head(columns ...string) {
	w.Open("thead")
	w.Open("tr")
	for _, c := range columns {
		attributes := []markup.Attribute{markup.Set("scope", "col")}
		if number, ok := strings.CutPrefix(c, "#"); ok {
			c, attributes = number, append(attributes, markup.Class("n"))
		}
		w.Open("th", attributes...)
		w.word(c)
		w.End()
	}
	w.End()
	w.End()
	w.Open("tbody")
}

// row begins a row with the cell that names it; End ends it.
func (w *paper) row(name string) {
	w.Open("tr")
	w.Open("th", markup.Set("scope", "row"))
	w.Put("bdi", name)
	w.End()
}

// rowOf is row for a word of the contract.
func (w *paper) rowOf(word string) {
	w.Open("tr")
	w.Open("th", markup.Set("scope", "row"))
	w.word(word)
	w.End()
}

func (w *paper) number(n int) { w.figure(strconv.Itoa(n)) }

func (w *paper) figure(text string) { w.Put("td", text, markup.Class("n")) }

// table begins a table; ended ends it.
func (w *paper) table(columns ...string) {
	w.Open("table")
	w.head(columns...)
}

func (w *paper) ended() {
	w.End()
	w.End()
}

func (s *sheet) waitingTo(w *paper) {
	w.section("What waits for a person")
	defer w.End()
	if s.waitingAll == 0 {
		w.note("Nothing.")
		return
	}
	w.note("The oldest first. Type the command: it shows the whole task, and asks.")
	for _, line := range s.exports {
		w.code(line)
	}
	w.Open("ol", markup.Class("tasks"))
	for _, t := range s.waiting {
		w.Open("li")
		w.Open("p")
		w.Put("strong", t.age, markup.Set("title", "since "+t.since))
		w.Text(" ")
		w.word(string(t.action))
		w.Text(": ")
		w.Put("bdi", t.whose)
		w.End()
		if t.subject != "" {
			w.Open("p", markup.Class("theirs"))
			w.Put("bdi", t.subject)
			w.End()
		}
		w.code(t.command)
		w.End()
	}
	w.End()
	w.more(s.waitingAll-len(s.waiting), "pulse-queue list --state awaiting_review")
}

func (s *sheet) healthTo(w *paper) {
	w.section("Health")
	defer w.End()
	for _, text := range s.unseen {
		w.note(text)
	}
	if s.found == 0 && len(s.unseen) == 0 {
		w.note("Nothing found.")
	}
	if s.found == 0 {
		return
	}
	w.Open("dl")
	for _, f := range s.findings {
		w.Open("dt")
		w.word(f.code)
		w.End()
		w.Open("dd")
		w.Open("p")
		w.Put("bdi", f.text)
		w.End()
		w.code(f.do)
		w.End()
	}
	w.End()
	w.more(s.found-len(s.findings), "pulse-queue health")
}

func (s *sheet) sendersTo(w *paper) {
	w.section("Who asked")
	defer w.End()
	if len(s.senders) == 0 {
		w.note("Nobody.")
		return
	}
	w.table("sender", "trust", "#records")
	for _, one := range s.senders {
		w.row(one.sender)
		w.Open("td")
		w.word(string(one.trust))
		w.End()
		w.number(one.times)
		w.End()
	}
	w.ended()
	if s.least {
		w.note(fmt.Sprintf("And more than %d others. There are so many that the numbers are lower bounds.", s.others))
	} else if s.others > 0 {
		w.note(fmt.Sprintf("And %s.", count(s.others, "other")))
	}
}

func (s *sheet) trustsTo(w *paper) {
	w.section("Decided how")
	defer w.End()
	if len(s.trusts) == 0 {
		w.note("Nothing was decided.")
		return
	}
	w.table("trust", "#allow", "#confirm", "#review", "#reject", "#all")
	for _, t := range s.trusts {
		w.rowOf(string(t.trust))
		for i := range terms.Outcomes {
			w.number(t.outcomes[i])
		}
		w.number(t.all)
		w.End()
	}
	w.ended()
	w.note("confirm is require_owner_confirmation, review is queue_for_review: both wait for a person.")
	if s.partial {
		w.note("Refusals beyond the first of a day are counted by day alone.")
	}
}

func (s *sheet) causesTo(w *paper) {
	w.section("Refused, and why")
	defer w.End()
	if len(s.causes) == 0 {
		w.note("Nothing was refused.")
		return
	}
	w.table("reason", "rule, and for whom", "#records")
	for _, one := range s.causes {
		w.row(one.reason)
		w.Open("td")
		w.Open("p")
		w.Put("bdi", one.rule)
		if one.identity != "" {
			w.Text(" (")
			w.Put("bdi", one.identity)
			w.Text(")")
		}
		w.End()
		w.Open("p")
		w.Put("bdi", one.whom)
		w.End()
		if one.advice != "" {
			w.note(one.advice)
		}
		w.End()
		w.number(one.times)
		w.End()
	}
	w.ended()
	if s.uncaused > 0 {
		w.note(fmt.Sprintf("And %d more, of other causes: pulse-queue log --why", s.uncaused))
	}
}

func (s *sheet) waitsTo(w *paper) {
	w.section("How long it took")
	defer w.End()
	w.table("wait", "#times", "#half within", "#nine in ten within", "#longest now")
	for _, one := range s.waits {
		w.row(one.what)
		w.number(one.n)
		if one.n == 0 {
			w.figure("–")
			w.figure("–")
		} else {
			w.figure(span(one.median))
			w.figure(span(one.most))
		}
		w.figure(span(one.now))
		w.End()
	}
	w.ended()
	if s.unknown > 0 {
		w.note(fmt.Sprintf("Left out: %s whose beginning is not known here.", count(s.unknown, "wait")))
	}
}

func (s *sheet) costsTo(w *paper) {
	w.section("Cost of the day")
	defer w.End()
	w.note("Workers started within the last 24 hours, of the most that a day may have.")
	w.table("starts", "#used", "#most", "share")
	for _, one := range s.costs {
		w.row(one.what)
		w.number(one.used)
		w.number(one.of)
		w.Open("td")
		w.gauge(one.used, one.of)
		w.End()
		w.End()
	}
	w.ended()
	w.note("The caps are " + s.limits + ".")
}

func (s *sheet) statesTo(w *paper) {
	w.section("Tasks by state")
	defer w.End()
	w.table("state", "#tasks")
	for _, one := range s.states {
		w.rowOf(string(one.state))
		w.number(one.n)
		w.End()
	}
	w.ended()
}

func (s *sheet) logTo(w *paper) {
	w.section("The log")
	defer w.End()
	if s.log != "" {
		w.note("It can't be read: " + s.log)
	}
	if s.lines.IsZero() {
		w.note("It has no line.")
		return
	}
	w.note("Its last line is of " + s.lines.UTC().Format(time.RFC3339) + ". This was its head, for later:")
	w.code("pulse-queue verify --head " + s.head)
}
