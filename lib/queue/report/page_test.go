package report

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/queue/health"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/escape/escapetest"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

var morning = time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)

// newDay returns an empty page.
func newDay() *Page {
	p := &Page{Asked: Asked{Now: morning, Since: morning.AddDate(0, 0, -1), Policy: policy.Default()}, columns: digestWhose}
	p.open = pending{waiting: nearest{n: digestWaiting}, expiring: nearest{n: digestSome}, later: nearest{n: digestSome}}
	p.past = past{since: p.Since, refused: newTally(), ends: map[ending]int{}, seen: map[string]time.Time{}}
	return p
}

// hostile returns what a stranger may write.
func hostile(r *rand.Rand) (text string) {
	for range r.IntN(4) {
		text += escapetest.Attacks[r.IntN(len(escapetest.Attacks))].Text
	}
	return text + strings.Repeat([]string{"", "x", "家", "e\u0301", " ", "\\", "\n"}[r.IntN(7)], r.IntN(300))
}

// horror returns a page in which everything from outside is hostile.
func horror(r *rand.Rand) *Page {
	p := newDay()
	p.Subjects = r.IntN(2) == 0
	for i := range 40 {
		e := store.Entry{ID: fmt.Sprintf("%032x", i), Action: terms.CodeOrComputer, Since: morning.Add(-time.Duration(r.IntN(1e6)) * time.Minute)}
		s := queue.Stored{Content: queue.Content{
			Identity: identity.Identity{Sender: hostile(r), Trust: terms.TrustLevels[r.IntN(len(terms.TrustLevels))]},
			Shown:    &envelope.Shown{Subject: hostile(r)},
		}}
		if r.IntN(2) == 0 {
			s.Request = &request.Request{Target: make([]string, 1+r.IntN(100))}
			s.Request.Target[0] = hostile(r)
		}
		if s.Task.Reason = hostile(r); r.IntN(2) == 0 {
			s.Task.Reason = queue.ReasonUnknownEffect
		}
		if r.IntN(2) == 0 {
			s.Task.Told = morning
		}
		p.open.waiting.add(e, e.Since)
		p.open.waiters = append(p.open.waiters, p.waiterOf(&timed{e, e.Since}, &s))
		p.open.ends = append(p.open.ends, p.expiryLine(&timed{e, e.Since}, &s))
		p.open.putOffs = append(p.open.putOffs, putOffLine(&timed{e, e.Since}, &s))
		for _, event := range []task.Event{task.Refused, task.Added, task.GaveUp, task.Denied, audit.Limited} {
			l := audit.Line{Time: morning, Event: event, Sender: hostile(r), Source: hostile(r), IdentityReason: hostile(r), Action: terms.Action(hostile(r))}
			if l.Change.Reason = hostile(r); event == task.GaveUp {
				l.To = task.Failed
			}
			p.past.hear(&l)
		}
		p.health.findings = append(p.health.findings, health.Finding{Code: health.Codes[i%len(health.Codes)], Text: hostile(r), Do: hostile(r)})
	}
	for range 3 {
		p.habits = append(p.habits, habit{wish: wish{hostile(r), terms.WriteLocal}, yes: r.IntN(1e9), row: aRow, whole: r.IntN(2) == 0})
	}
	p.open.expiring.all, p.open.later.all, p.drafts.n = r.IntN(1e9), r.IntN(1e9), r.IntN(1e9)
	p.figures = Figures{counts: map[task.State]int{}, held: hostile(r), asks: r.IntN(1e9), external: r.IntN(1e9), effects: r.IntN(1e9)}
	for _, st := range task.States {
		p.figures.counts[st] = r.IntN(1e9)
	}
	return p
}

// aRow is what a digest proposes, as long as it gets.
var aRow = []string{
	`[matrix."` + strings.Repeat("x", 40) + `@colleague.example"]`, `allow = ["read_public", "write_local"]`,
	`require_owner_confirmation = ["read_private", "external_send", "destructive", "code_or_computer"]`, `tools.allow = ["web.*", "fs.*"]`,
}

// columns is how wide a line is at most.
func columns(line string) (n int) {
	for _, r := range line {
		if n++; r > '~' {
			n++
		}
	}
	return n
}

// TestDigestOfStrangers: whatever they write, no line is wider than a mail's and none is
// theirs, and nothing but subjects and what health finds is other than ASCII.
func TestDigestOfStrangers(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		section := ""
		for i, l := range horror(rand.New(rand.NewPCG(seed, 1))).Lines(nil) {
			if wrong := escapetest.Wrong(l); wrong != "" || columns(l) > digestWidth {
				t.Errorf("seed %d: %d columns, %s: %q", seed, columns(l), wrong, l)
			}
			if i > 0 && l[0] != ' ' {
				section, _, _ = strings.Cut(l, "  ")
			}
			if !slices.Contains(sections, section) {
				t.Errorf("seed %d: it begins a section: %q", seed, l)
			}
			ascii := !strings.ContainsFunc(l, func(r rune) bool { return r > '~' })
			if !ascii && section != "health" && !strings.HasPrefix(l, "       | ") {
				t.Errorf("seed %d: it is not ASCII: %q", seed, l)
			}
		}
	}
}

var sections = []string{"", "tasks", "waiting", "expires", "ended", "refused", "put off", "drafts", "starts", "mail", "health", "recurs"}

// TestDigestIsOneScreen: the page of the worst day is not much longer than a screen.
func TestDigestIsOneScreen(t *testing.T) {
	p := newDay()
	p.figures.counts = map[task.State]int{}
	for _, st := range task.States {
		p.figures.counts[st] = 100000
	}
	for i := range 100000 {
		e := store.Entry{ID: fmt.Sprintf("%032x", i), Action: terms.CodeOrComputer, Since: morning.Add(-time.Hour)}
		for _, x := range []*nearest{&p.open.waiting, &p.open.expiring, &p.open.later} {
			x.add(e, e.Since)
		}
		l := audit.Line{Time: morning, Event: task.Refused, Sender: fmt.Sprint(i), Source: fmt.Sprint(i), IdentityReason: fmt.Sprint(i), Action: terms.Action(fmt.Sprint(i))}
		l.Change.Reason = fmt.Sprint(i)
		p.past.hear(&l)
		l.Event, l.To = task.GaveUp, task.Failed
		p.past.hear(&l)
		if i < 30 {
			p.health.findings = append(p.health.findings, health.Finding{Code: health.Codes[i%5], Text: strings.Repeat("a word ", 15), Do: "pulse-queue verify"})
		}
	}
	s := &queue.Stored{}
	for i := range p.open.waiting.list {
		p.open.waiters = append(p.open.waiters, p.waiterOf(&p.open.waiting.list[i], s))
	}
	for i := range p.open.later.list {
		p.open.ends = append(p.open.ends, p.expiryLine(&p.open.expiring.list[i], s))
		p.open.putOffs = append(p.open.putOffs, putOffLine(&p.open.later.list[i], s))
	}
	for range recursShown {
		p.habits = append(p.habits, habit{wish: wish{strings.Repeat("x", 60), terms.WriteLocal}, yes: 29, row: aRow, whole: true})
	}
	p.figures.asks, p.figures.external, p.figures.effects, p.drafts.n = 100, 50, 100, 1000
	if lines := p.Lines([][2]string{{"queue", ""}, {"policy", ""}}); len(lines) > 92 {
		t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	if len(p.past.ends) > maxEndings+1 || len(p.past.seen) > maxSources || len(p.past.refused.causes) > maxCauses {
		t.Errorf("%d ends, %d sources, %d causes are kept", len(p.past.ends), len(p.past.seen), len(p.past.refused.causes))
	}
}

// TestTyped: what could not be copied from a mail is not proposed.
func TestTyped(t *testing.T) {
	for _, c := range []struct {
		row  []string
		want bool
	}{
		{aRow, true}, {nil, false}, {[]string{`[matrix."` + strings.Repeat("x", 70) + `"]`}, false}, {[]string{"[matrix.\"家\"]"}, false},
		{[]string{"[matrix.\"a\x1b\"]"}, false}, {[]string{`[matrix."a\\b@x.example"]`}, false},
	} {
		if h := (habit{row: c.row}); h.copyable() != c.want {
			t.Errorf("%q: %v", c.row, h.copyable())
		}
	}
}

// TestTold: a person sees that a task is told once more, and when it expires at the earliest.
func TestTold(t *testing.T) {
	p := newDay()
	l := &p.Policy.Limits
	e := timed{Entry: store.Entry{ID: "x", Since: morning.Add(-l.ReviewExpires)}}
	var s queue.Stored
	answer := (l.ReviewExpires - l.Resurface) / 10
	for told, want := range map[time.Time]time.Time{
		{}: morning.Add(answer), morning.Add(-time.Hour): morning.Add(answer - time.Hour), morning.Add(-2 * answer): morning,
	} {
		s.Task.Told = told
		if got := p.expiryLine(&e, &s); !strings.HasPrefix(got, "  "+want.Format(time.RFC3339)) {
			t.Errorf("told %s: %q, want %s", told, got, want)
		}
		if got := p.waiterOf(&e, &s).Whose; strings.HasSuffix(got, "; told again") == told.IsZero() {
			t.Errorf("told %s: %q", told, got)
		}
	}
}

// TestOldestFirst: the ten that have waited longest are kept, whatever their order in the
// agenda, which is that in which they became open.
func TestOldestFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		x, minutes := nearest{n: digestWaiting}, r.Perm(1+r.IntN(100))
		for _, m := range minutes {
			x.add(store.Entry{ID: fmt.Sprint(m)}, morning.Add(time.Duration(m)*time.Minute))
		}
		for i := range x.list {
			if x.list[i].ID != fmt.Sprint(i) {
				t.Fatalf("%v of %v", x.list, minutes)
			}
		}
		if x.all != len(minutes) || len(x.list) != min(x.all, digestWaiting) {
			t.Errorf("%d of %d", len(x.list), x.all)
		}
	}
}

// diary is a store that has nothing but a log, newest line first.
type diary struct {
	Store
	line func(n int) audit.Line // the nth
	read int
}

func (d *diary) History(fn func(audit.Line) bool, _ ...task.Event) error {
	for d.read < 1000000 {
		l := d.line(d.read)
		if d.read++; !fn(l) {
			return nil
		}
	}
	return nil
}

// TestLogIsReadBackToSince: a million lines are not read for a day that has ten, nor is what
// is told of a day with as many refusals more than is bounded.
func TestLogIsReadBackToSince(t *testing.T) {
	p := newDay()
	log := &diary{line: func(n int) audit.Line {
		return audit.Line{Time: morning.Add(-time.Duration(n) * 2 * time.Hour), Event: task.Finished, To: task.Completed}
	}}
	if err := p.past.read(t.Context(), log, nil); err != nil || log.read > 15 || p.past.ends[ending{7, "", "completed"}] != 13 {
		t.Errorf("%v, %d lines were read, %v", err, log.read, p.past.ends)
	}
	also := 0
	log.read = 0
	err := p.past.read(t.Context(), log, func(audit.Line) bool { also++; return also < 100 })
	if err != nil || also != 100 || log.read != 100 || p.past.ends[ending{7, "", "completed"}] != 13 {
		t.Errorf("%v, %d of %d lines were read by both, %v", err, also, log.read, p.past.ends)
	}
	*log = diary{line: func(n int) audit.Line {
		l := audit.Line{Time: morning, Event: task.Refused, Sender: fmt.Sprint(n), Source: fmt.Sprint(n), IdentityReason: fmt.Sprint(n)}
		l.Change.Reason = "not_permitted"
		return l
	}}
	if err := p.past.read(t.Context(), log, nil); err != nil || len(p.past.seen) > maxSources || len(p.past.refused.causes) > maxCauses {
		t.Errorf("%v, %d sources, %d causes", err, len(p.past.seen), len(p.past.refused.causes))
	}
	if got := p.refused()[0]; !strings.HasPrefix(got, "refused  1000000: pulse-queue log --why --since ") {
		t.Error(got)
	}
}

// TestLogThatCannotBeRead: what is known all the same is told, and that something is not.
func TestLogThatCannotBeRead(t *testing.T) {
	p := newDay()
	bad := errors.New("the disk")
	if err := p.past.read(t.Context(), &torn{at: bad}, nil); !errors.Is(err, bad) || p.past.broken == nil || p.headline() != "the log can't be read" {
		t.Errorf("%v, %s", err, p.headline())
	}
	p = newDay()
	p.past.since = morning // damaged before that, it is no harm
	if err := p.past.read(t.Context(), &torn{at: bad}, func(audit.Line) bool { return true }); !errors.Is(err, bad) || p.past.broken != nil {
		t.Error(err, p.past.broken)
	}
}

// torn has one line that can be read.
type torn struct {
	Store
	at error
}

func (d *torn) History(fn func(audit.Line) bool, _ ...task.Event) error {
	fn(audit.Line{Time: morning.Add(-2 * time.Hour)})
	return d.at
}
