package report

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/queue/health"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/escape/escapetest"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// calmText and wildText are what stand in the places where strangers write. There are as many
// different ones of each.
func calmText(i int) string {
	return fmt.Sprintf("sender.number.%d@mail%d.example", i%len(wild), i%len(wild)%7)
}

func wildText(i int) string { return wild[i%len(wild)] }

// wild are attacks on a terminal, and on a page. Each begins alike, so that none is empty.
var wild = func() (list []string) {
	for i, a := range escapetest.Attacks {
		list = append(list, fmt.Sprintf("%d.%s", i, a.Text))
	}
	for i, text := range []string{
		`<script>document.title="bad"</script>`, `</bdi></td></table><img src="http://evil.example/a" onerror="alert(1)">`, `"><style>*{display:none}</style>`,
		`" onmouseover="alert(1)" x="`, `' autofocus onfocus='alert(1)`, `<!--`, `--><a href="http://evil.example">click</a>`, `]]><svg onload=alert(1)>`,
		`</title><meta http-equiv=refresh content="0;url=http://evil.example">`, `<link rel=stylesheet href=http://evil.example/x.css>`, `<iframe srcdoc="x">`,
		`<base href=http://evil.example/>`, `<form action=http://evil.example><button>yes</button>`, `<p style="background:url(http://evil.example/a)">`, `&lt;script&gt;`, `<plaintext>`,
	} {
		list = append(list, fmt.Sprintf("h%d.%s", i, text))
	}
	return list
}()

// month30 returns the page of a month in which strangers wrote what text returns.
func month30(text func(i int) string) *sheet {
	p := newMonthPage()
	r := rand.New(rand.NewPCG(30, 1))
	for i := range 4000 {
		at := morning.Add(-time.Duration(i) * 10 * time.Minute)
		l := audit.Line{Time: at, Event: task.Added, Kind: task.Ask, Task: fmt.Sprintf("%032x", i), Source: text(i), Sender: text(i), Outcome: terms.Allow, To: task.Scheduled}
		l.Trust, l.Action = terms.TrustLevels[i%len(wild)%len(terms.TrustLevels)], terms.ReadPublic
		switch n := r.IntN(10 + i/400); {
		case n > 8:
			l.Event, l.Outcome, l.To, l.Change.Reason = task.Refused, terms.Reject, "", "not_permitted"
			l.Rule, l.IdentityReason = text(i), text(i+1)
			l.Change.Reason = text(i + 2)
		case n > 6:
			l.Outcome, l.To = terms.Review, task.Awaiting
		default:
			end := audit.Line{Time: at.Add(time.Duration(r.IntN(9000)) * time.Second), Event: task.Started, Task: l.Task, From: task.Scheduled, To: task.Running}
			p.hears(&end)
		}
		p.hears(&l)
	}
	for i := range 25 {
		e := store.Entry{ID: fmt.Sprintf("%032x", i), Action: terms.CodeOrComputer, Since: morning.Add(-time.Duration(i*i) * time.Hour)}
		p.open.waiting.add(e, e.Since)
	}
	for i := range p.open.waiting.list {
		s := queue.Stored{Content: queue.Content{
			Identity: identity.Identity{Sender: text(i), Trust: terms.ExternalVerified, Verified: true}, Shown: &envelope.Shown{Subject: text(i + 10)},
			Request: &request.Request{Target: []string{text(i + 20), "x"}},
		}}
		p.open.waiters = append(p.open.waiters, p.waiterOf(&p.open.waiting.list[i], &s))
	}
	for i := range 22 {
		p.health.findings = append(p.health.findings, health.Finding{Code: health.Codes[i%len(health.Codes)], Text: "task was started as " + text(i), Do: "pulse-queue run --as USER -- " + text(i)})
	}
	p.health.long = true
	for i, st := range task.States {
		p.figures.counts[st] = 7 * i * i
	}
	p.figures.asks, p.figures.external, p.figures.effects = 37, 12, 4
	p.past.counts = store.Counts{Day: morning.Format(time.DateOnly), Refused: 31, Head: audit.Origin}
	s := p.sheet()
	s.Exports = []string{"export PULSE_QUEUE=/var/lib/pulse/queue", "export PULSE_POLICY=" + text(3)}
	return s
}

// hears takes a line as past.read does.
func (p *Page) hears(l *audit.Line) {
	p.past.hear(l)
	p.past.month.hear(l)
}

// page returns the page as it is written.
func (s *sheet) page() []byte {
	b, err := s.html()
	if err != nil {
		panic(err)
	}
	return b
}

func newMonthPage() *Page {
	p := newDay()
	p.Subjects, p.past.newest = true, morning
	p.past.month = newMonth(p.Now, math.MaxInt)
	p.Since = p.past.month.from
	p.past.since, p.columns = p.Since, sheetWhose
	p.figures.counts = map[task.State]int{}
	return p
}

// at returns a line of the log, so many minutes before the page is made.
func at(minutes int, e task.Event, id int, from, to task.State) *audit.Line {
	return &audit.Line{Time: morning.Add(-time.Duration(minutes) * time.Minute), Event: e, Task: fmt.Sprintf("%032x", id), From: from, To: to}
}

func (m *month) hearAll(lines ...*audit.Line) {
	slices.SortStableFunc(lines, func(a, b *audit.Line) int { return b.Time.Compare(a.Time) })
	for _, l := range lines {
		m.hear(l)
	}
}

func put3(l *audit.Line, trust terms.Trust, o terms.Outcome, sender string) *audit.Line {
	l.Trust, l.Outcome, l.Sender = trust, o, sender
	return l
}

// TestWaits: a wait begins when a task is due, or comes to a person, and each is counted once.
func TestWaits(t *testing.T) {
	const add, aw, sch, run = task.Added, task.Awaiting, task.Scheduled, task.Running
	due := func(l *audit.Line, minutes int) *audit.Line {
		l.Change.NotBefore = morning.Add(-time.Duration(minutes) * time.Minute)
		return l
	}
	for name, c := range map[string]struct {
		lines         []*audit.Line
		start, person []int // minutes
		unknown       int
	}{
		"at once":       {[]*audit.Line{at(50, add, 1, "", sch), at(40, task.Started, 1, sch, run)}, []int{10}, nil, 0},
		"once due":      {[]*audit.Line{due(at(50, add, 1, "", sch), 45), at(40, task.Started, 1, sch, run)}, []int{5}, nil, 0},
		"before it was": {[]*audit.Line{due(at(50, add, 1, "", sch), 30), at(40, task.Started, 1, sch, run)}, []int{0}, nil, 0},
		"again": {[]*audit.Line{
			at(50, add, 1, "", sch), at(40, task.Started, 1, sch, run), due(at(38, task.Retried, 1, run, sch), 20), at(17, task.Started, 1, sch, run),
		}, []int{10, 3}, nil, 0},
		"a yes": {[]*audit.Line{
			at(50, add, 1, "", aw), at(30, task.Approved, 1, aw, sch), at(29, task.Started, 1, sch, run),
		}, []int{1}, []int{20}, 0},
		"told again":   {[]*audit.Line{at(50, add, 1, "", aw), at(40, audit.Resurfaced, 1, aw, ""), at(30, task.Denied, 1, aw, task.Rejected)}, nil, []int{20}, 0},
		"not answered": {[]*audit.Line{at(50, add, 1, "", aw), at(30, task.Expired, 1, aw, task.Rejected)}, nil, nil, 0},
		"two":          {[]*audit.Line{at(50, add, 1, "", sch), at(49, add, 2, "", sch), at(40, task.Started, 2, sch, run), at(30, task.Started, 1, sch, run)}, []int{9, 20}, nil, 0},
		"still":        {[]*audit.Line{at(50, add, 1, "", sch)}, nil, nil, 0},
		"long ago":     {[]*audit.Line{at(40, task.Started, 1, sch, run)}, nil, nil, 1},
		"parked": {[]*audit.Line{
			at(50, add, 1, "", sch), at(45, task.Parked, 1, sch, aw), at(30, task.Approved, 1, aw, sch), at(10, task.Started, 1, sch, run),
		}, []int{20}, []int{15}, 0},
	} {
		p := newMonthPage()
		p.past.month.hearAll(c.lines...)
		for i, want := range [][]int{c.start, c.person} {
			got := []waits{p.past.month.start, p.past.month.person}[i]
			counts := map[time.Duration]int{}
			for _, m := range want {
				counts[time.Duration(m)*time.Minute]++
			}
			if got.n != len(want) || len(counts) > 0 && !reflect.DeepEqual(got.counts, counts) {
				t.Errorf("%s: %v, want %v", name, got, counts)
			}
		}
		want := ""
		if c.unknown > 0 {
			want = "Left out: " + cmdline.Count(c.unknown, "wait") + " whose beginning is not known here."
		}
		if s := p.sheet(); s.Unknown != want {
			t.Errorf("%s: %s", name, s.Unknown)
		}
	}
}

// TestWithin: half and nine in ten waited no longer, whatever their order, as the exact
// percentiles of a sorted list have it.
func TestWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var w waits
		var all []time.Duration
		for range 1 + r.IntN(60) {
			d := time.Duration(r.Int64N(int64(time.Hour) << r.IntN(10)))
			w.add(d)
			all = append(all, d)
		}
		slices.Sort(all)
		for _, percent := range []int{50, 90} {
			if want := all[(percent*len(all)+99)/100-1]; duration.Span(w.within(percent)) != duration.Span(want) {
				t.Fatalf("%d in a hundred of %v waited %s", percent, all, w.within(percent))
			}
		}
	}
	if (&waits{}).within(50) != 0 {
		t.Error("nobody waited")
	}
}

// TestSheet: the numbers of a page are those of the lines that it is made of.
func TestSheet(t *testing.T) {
	const day = 24 * 60
	p := newMonthPage()
	lines := []*audit.Line{
		put3(at(1, task.Added, 1, "", task.Scheduled), terms.OwnerVerifiedEmail, terms.Allow, "me@example.com"),
		put3(at(2, task.Added, 2, "", task.Awaiting), terms.OwnerVerifiedEmail, terms.Confirm, "me@example.com"),
		put3(at(3, task.Added, 3, "", task.Awaiting), terms.ExternalVerified, terms.Review, "a@x"),
		put3(at(4, task.Refused, 4, "", ""), terms.Unknown, terms.Allow, "b@x"), // for its quota
		put3(at(day, task.Refused, 5, "", ""), terms.Unknown, terms.Reject, "b@x"),
		put3(at(29*day, task.Added, 6, "", task.Scheduled), terms.System, terms.Allow, ""),
		put3(at(31*day, task.Added, 7, "", task.Scheduled), terms.System, terms.Allow, "old@x"),
		put3(at(5, task.Added, 8, "", task.Scheduled), "from_the_future", terms.Allow, "c@x"),
		{Time: morning.Add(-24 * time.Hour), Event: audit.Limited},
		put3(at(6, task.Denied, 9, task.Awaiting, task.Rejected), terms.OwnerVerifiedEmail, terms.Confirm, "me@example.com"),
	}
	lines[1].Kind = task.Effect
	for _, l := range lines {
		p.hears(l)
	}
	p.past.counts = store.Counts{Day: "2026-11-22", Refused: 9}
	s := p.sheet()
	days := s.Days.Rows
	for i, want := range map[int]string{29: "2026-10-24 1 0 0 1 0", 1: "2026-11-21 0 0 ≥ 1 ≥ 1 0", 0: "2026-11-22 2 2 9 13 1"} {
		if got := strings.Join(days[i], " "); len(days) != monthDays || got != want {
			t.Errorf("%d days, the %d. is %s, want %s", len(days), i, got, want)
		}
	}
	if s.Most != 13 || !s.Partial {
		t.Errorf("%d, %t", s.Most, s.Partial)
	}
	senders := [][]string{
		{"b@x", "unknown", "2", "–"}, {"me@example.com", "owner_verified_email", "2", "0 of 1"}, {"-", "system", "1", "–"},
		{"a@x", "external_verified", "1", "–"}, {"c@x", "from_the_future", "1", "–"},
	}
	if !reflect.DeepEqual(s.Senders.Rows, senders) {
		t.Errorf("%+v", s.Senders)
	}
	if causes := [][]string{{"", "", "b@x (2)", "2"}}; !reflect.DeepEqual(s.Causes.Rows, causes) {
		t.Errorf("%+v", s.Causes)
	}
}

// TestPageIsBounded: a million records of a hundred thousand senders fill no page of more than
// a quarter of a megabyte, nor the memory.
func TestPageIsBounded(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 150_000
	}
	p := newMonthPage()
	long := strings.Repeat("\u202e", 2000)
	for i := range n {
		l := put3(at(i%40000, task.Refused, i, "", ""), terms.Unknown, terms.Reject, fmt.Sprint(i%100_000, long))
		l.Change.Reason, l.Rule, l.IdentityReason, l.Source = fmt.Sprint(i%1000, long), fmt.Sprint(i, long), long, long
		p.hears(l)
		p.hears(at(i%40000, task.Started, i, task.Scheduled, task.Running))
	}
	for i := range 1000 {
		p.health.findings = append(p.health.findings, health.Finding{Code: health.Codes[i%5], Text: long[:3000], Do: "pulse-queue verify"})
	}
	m, s := p.past.month, p.sheet()
	if len(m.ends) > maxEnds || len(m.senders.counts) > maxPeople+1 || !strings.Contains(s.Unknown, fmt.Sprint(" ", n, " ")) || s.Senders.Rows[sheetSenders][0] != others {
		t.Errorf("%d ends, %d senders, %s, %q", len(m.ends), len(m.senders.counts), s.Unknown, s.Senders.Rows)
	}
	if size := len(s.page()); size > 256<<10 {
		t.Errorf("the page has %d bytes", size)
	}
}

// allowed are the elements of a page with the attributes that they may have.
var allowed = map[string]string{
	"html": "lang", "head": "", "meta": "charset content name http-equiv", "title": "", "style": "", "body": "", "header": "", "main": "", "footer": "", "section": "",
	"div": "class", "h1": "", "h2": "", "p": "class", "code": "", "ol": "class", "ul": "class", "li": "", "strong": "title", "bdi": "", "wbr": "", "dl": "", "dt": "", "dd": "",
	"table": "", "thead": "", "tbody": "", "tr": "", "th": "scope class", "td": "class", "figure": "", "details": "", "summary": "", "span": "",
	"svg": "class role aria-label aria-hidden viewBox preserveAspectRatio", "g": "", "rect": "class x y width height",
}

// TestPageOfStrangers: whatever they write, there is no element or attribute on the page that
// the program does not write, and no character that moves or hides others.
func TestPageOfStrangers(t *testing.T) {
	page := month30(wildText).page()
	if wrong := escapetest.Wrong(string(page)); wrong != "" {
		t.Error(wrong)
	}
	for _, bad := range []string{"href", "src=", "url(", "@import"} {
		if strings.Contains(sheetStyle, bad) {
			t.Errorf("the style has %s", bad)
		}
	}
	calm, hurt := shape(t, month30(calmText).page()), shape(t, page)
	if !slices.Equal(calm, hurt) {
		t.Error("strangers change the elements of the page")
	}
	for _, one := range hurt {
		name, attributes, _ := strings.Cut(one, " ")
		list, known := allowed[name]
		for _, a := range strings.Fields(attributes) {
			known = known && slices.Contains(strings.Fields(list), a)
		}
		if !known {
			t.Errorf("there is an element %s", one)
		}
	}
}

// shape returns the elements of a page with the names of their attributes.
func shape(t *testing.T, page []byte) (list []string) {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		text := n.Data
		for _, a := range n.Attr {
			text += " " + a.Key
		}
		list = append(list, text)
	}
	return list
}
