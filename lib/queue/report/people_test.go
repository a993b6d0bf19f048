package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/escape/escapetest"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// yesTo is the line of a yes to an ask that the row of a proven sender left to a person.
func yesTo(sender string, at time.Time) audit.Line {
	return audit.Line{
		Time: at, Event: task.Approved, Task: strings.Repeat("a1", 16), Kind: task.Ask, From: task.Awaiting, To: task.Scheduled,
		Sender: sender, Trust: terms.ExternalVerified, Action: terms.WriteLocal, Outcome: terms.Review, Rule: "matrix.external_verified.queue_for_review",
	}
}

// TestAlways: five times yes and nothing else is always, and each other answer is not.
func TestAlways(t *testing.T) {
	const bob = "bob@colleague.example"
	line := func(change func(*audit.Line)) []audit.Line {
		l := yesTo(bob, morning.Add(-time.Hour))
		change(&l)
		return []audit.Line{l}
	}
	for _, c := range []struct {
		name   string
		yeses  int
		others []audit.Line
		want   int
	}{
		{"five yeses", 5, nil, 5},
		{"29 yeses", 29, nil, 29},
		{"four yeses", 4, nil, 0},
		{"a no", 29, line(func(l *audit.Line) { l.Event = task.Denied }), 0},
		{"an expiry", 29, line(func(l *audit.Line) { l.Event = task.Expired }), 0},
		{"one that was cancelled", 29, line(func(l *audit.Line) { l.Event = task.Cancelled }), 0},
		{"a no to an effect", 29, line(func(l *audit.Line) { l.Event, l.Kind = task.Denied, task.Effect }), 0},
		{"a no to what another check had left", 29, line(func(l *audit.Line) { l.Event, l.Rule = task.Denied, "max_age" }), 0},
		{"a no to another action", 5, line(func(l *audit.Line) { l.Event, l.Action = task.Denied, terms.ReadPrivate }), 5},
		{"a no to another sender", 5, line(func(l *audit.Line) { l.Event, l.Sender = task.Denied, "eve@colleague.example" }), 5},
		{"a no before the month", 5, line(func(l *audit.Line) { l.Event, l.Time = task.Denied, morning.AddDate(0, 0, -31) }), 5},
		{"a fifth to a field that is not signed", 4, line(func(l *audit.Line) { l.Rule = "accept_unsigned" }), 0},
		{"a fifth to a text that is not proven", 4, line(func(l *audit.Line) { l.Rule = "text" }), 0},
		{"a fifth to what is old", 4, line(func(l *audit.Line) { l.Rule = "max_age" }), 0},
		{"a fifth to what [flow] confirms", 4, line(func(l *audit.Line) { l.Rule = "flow.untrusted.confirm" }), 0},
		{"a fifth to what was allowed and parked", 4, line(func(l *audit.Line) { l.Outcome, l.Rule = terms.Allow, "matrix.external_verified.allow" }), 0},
		{"a fifth to an effect", 4, line(func(l *audit.Line) { l.Kind = task.Effect }), 0},
		{"a fifth of a sender who is not proven", 4, line(func(l *audit.Line) { l.Trust = terms.OwnerClaim }), 0},
		{"a fifth in a session", 4, line(func(l *audit.Line) { l.Trust = terms.ApprovedSession }), 0},
		{"a fifth before the month", 4, line(func(l *audit.Line) { l.Time = morning.AddDate(0, 0, -31) }), 0},
	} {
		m := newMonth(morning, math.MaxInt)
		lines := c.others
		for i := range c.yeses {
			lines = append(lines, yesTo(bob, morning.Add(-time.Duration(i+2)*time.Hour/2)))
		}
		slices.SortStableFunc(lines, func(a, b audit.Line) int { return b.Time.Compare(a.Time) })
		for i := range lines {
			m.hear(&lines[i])
		}
		got := m.always()
		if c.want == 0 && len(got) > 0 || c.want > 0 && (len(got) != 1 || got[0].yes != c.want || got[0].sender != bob || got[0].action != terms.WriteLocal) {
			t.Errorf("%s: %+v, want %d", c.name, got, c.want)
		}
	}
}

// TestPeopleAreBounded: senders that are too many to be told apart count as others, in every
// figure and nowhere twice, and none of them has a habit.
func TestPeopleAreBounded(t *testing.T) {
	m := newMonth(morning, math.MaxInt)
	const n = maxPeople + 500
	for i := range n {
		l := yesTo(fmt.Sprintf("%d@x.example", i), morning.Add(-time.Minute))
		for range 2 {
			m.hear(&l)
		}
		l.Event = task.Started
		m.hear(&l)
		l.Event, l.Source, l.IdentityReason = task.Refused, "imaps://x", "dmarc_fail"
		m.hear(&l)
	}
	if len(m.answers) > maxPeople+1 || len(m.starts.counts) > maxPeople+1 {
		t.Errorf("%d and %d are kept", len(m.answers), len(m.starts.counts))
	}
	for name, b := range map[string]*bySender{"answers": m.answersBySender(), "starts": &m.starts} {
		list, all := b.top(3), 0
		for _, s := range list {
			all += s.all()
		}
		if want := map[string]int{"answers": 2 * n, "starts": n}[name]; all != want || len(list) != 4 || list[3].sender != others {
			t.Errorf("%s: %d, want %d: %v", name, all, want, list)
		}
	}
	if list := m.always(); len(list) > 0 {
		t.Errorf("%v", list)
	}
}

// fullMonth returns a month with a bit of everything, from a sender with such a name.
func fullMonth(sender string) *month {
	m := newMonth(morning, math.MaxInt)
	hear := func(age time.Duration, change func(*audit.Line)) {
		l := yesTo(sender, morning.Add(-age))
		l.Task = fmt.Sprintf("%032x", int(age))
		change(&l)
		m.hear(&l)
	}
	as := func(e task.Event) func(*audit.Line) { return func(l *audit.Line) { l.Event = e } }
	later := func(l *audit.Line) { l.Event, l.To, l.End = task.Retried, task.Scheduled, &audit.End{Exit: 75} }
	hear(time.Minute, later)
	hear(2*time.Minute, as(task.Started))
	hear(3*time.Minute, func(l *audit.Line) { l.Event, l.Source, l.IdentityReason = task.Refused, "imaps://x", "dkim_fail" })
	hear(5*time.Minute, func(l *audit.Line) { l.Event, l.To, l.End = task.Retried, task.Scheduled, &audit.End{Exit: 1} })
	hear(time.Hour, later)
	hear(90*time.Minute, later)
	hear(2*time.Hour, as(task.Approved))
	hear(3*time.Hour, as(task.Denied))
	hear(4*time.Hour, as(task.Expired))
	hear(5*time.Hour, func(l *audit.Line) {
		l.Event, l.To, l.Task, l.Outcome, l.From = task.Added, task.Awaiting, fmt.Sprintf("%032x", int(2*time.Hour)), terms.Review, ""
	})
	hear(6*time.Hour, func(l *audit.Line) {
		l.Event, l.Trust, l.Sender = task.Started, terms.OwnerVerifiedEmail, "me@example.com"
	})
	hear(7*time.Hour, func(l *audit.Line) {
		l.Event, l.Source, l.IdentityReason = task.Added, "imaps://x", "authenticated_external"
	})
	hear(24*time.Hour, later)
	hear(25*time.Hour, as(task.Started))
	return m
}

// TestPeopleFigures: the same numbers in all forms of stats.
func TestPeopleFigures(t *testing.T) {
	f := Figures{counts: map[task.State]int{}, now: morning, most: 40, month: fullMonth("bob@colleague.example")}
	var got struct {
		Since  time.Time      `json:"log_since"`
		Hours  []int          `json:"exits_75_by_hour"`
		Answer map[string]int `json:"answer_seconds"`
		Said   []struct {
			Sender           string
			Yes, No, Expired int
		} `json:"answers"`
		Starts []struct {
			Sender      string
			External    bool
			Ask, Effect int
		} `json:"starts_24h_by_sender"`
		Most     int `json:"max_per_day"`
		External int `json:"max_per_day_external"`
		Failing  []struct {
			Sender, Reason string
			Passed, Failed time.Time
		} `json:"failing"`
	}
	if err := json.Unmarshal(f.JSON(), &got); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%v %v %v %v %v %d %d %v", got.Since.Format(time.RFC3339), got.Hours[:3], got.Answer, got.Said, got.Starts, got.Most, got.External, got.Failing)
	if want := "2026-11-21T06:00:00Z [1 2 0] map[count:1 max:10800 median:10800 p90:10800] [{bob@colleague.example 1 1 1}]" +
		" [{bob@colleague.example true 1 0} {me@example.com false 1 0}] 40 20 [{bob@colleague.example dkim_fail 2026-11-22 00:00:00 +0000 UTC 2026-11-22 06:57:00 +0000 UTC}]"; text != want {
		t.Errorf("%s, want\n%s", text, want)
	}
	samples, err := exposition(string(f.Metrics()))
	if err != nil {
		t.Fatalf("%v\n%s", err, f.Metrics())
	}
	for name, want := range map[string]float64{
		`pulse_exits_75_1h`: 1, `pulse_failing_senders`: 1,
		`pulse_answers_30d{sender="bob@colleague.example",answer="yes"}`:                        1,
		`pulse_answers_30d{sender="bob@colleague.example",answer="no"}`:                         1,
		`pulse_answers_30d{sender="bob@colleague.example",answer="expired"}`:                    1,
		`pulse_answer_median_seconds`:                                                           10800,
		`pulse_answer_p90_seconds`:                                                              10800,
		`pulse_answer_max_seconds`:                                                              10800,
		`pulse_starts_24h_max{external="false"}`:                                                40,
		`pulse_starts_24h_max{external="true"}`:                                                 20,
		`pulse_sender_starts_24h{sender="bob@colleague.example",kind="ask",external="true"}`:    1,
		`pulse_sender_starts_24h{sender="bob@colleague.example",kind="effect",external="true"}`: 0,
		`pulse_sender_starts_24h{sender="me@example.com",kind="ask",external="false"}`:          1,
	} {
		if got, there := samples[name]; !there || got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	var table strings.Builder
	if err := f.Table(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"later            3 attempts ended with 75 in 24 h, 1 within the last hour\n",
		"answers          1 answer, half within 3h, nine in ten within 3h, all within 3h\n",
		"yes              bob@colleague.example 1 of 3\n",
		"asks of          bob@colleague.example 1 of 20, me@example.com 1 of 40\n",
		"failing          bob@colleague.example: dkim_fail since 2026-11-22T06:57:00Z, proven until 2026-11-22T00:00:00Z\n",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is not in\n%s", want, table.String())
		}
	}
}

// TestPeopleOfStrangers: whatever senders are called, each form stays what it is.
func TestPeopleOfStrangers(t *testing.T) {
	names := []string{`a"b\c@x.example`, "a\nb{} 1\n# TYPE x gauge", `\`, "\xff\x00", strings.Repeat("x", 5000), others, ""}
	for _, a := range escapetest.Attacks {
		names = append(names, a.Text)
	}
	for _, name := range names {
		f := Figures{counts: map[task.State]int{}, now: morning, month: fullMonth(name)}
		samples, err := exposition(string(f.Metrics()))
		if err != nil {
			t.Errorf("%q: %v", name, err)
		}
		for s := range samples {
			if wrong := escapetest.Wrong(s); wrong != "" || len(s) > 4*maxWord+200 {
				t.Errorf("%q: %s, %d bytes: %s", name, wrong, len(s), s)
			}
		}
		if !json.Valid(f.JSON()) || strings.ContainsAny(string(f.JSON()), "\n\x1b") {
			t.Errorf("%q: %s", name, f.JSON())
		}
		for _, r := range f.peopleRows() {
			if wrong := escapetest.Wrong(r[1]); wrong != "" || strings.ContainsFunc(r[1], func(r rune) bool { return r > '~' }) {
				t.Errorf("%q: %s: %q", name, wrong, r[1])
			}
		}
	}
}

// TestStatsReadsLittle: the log of a busy queue is not read whole, and stats says how far.
func TestStatsReadsLittle(t *testing.T) {
	m := newMonth(morning, statsLines)
	log := &diary{line: func(n int) audit.Line {
		return yesTo("bob@colleague.example", morning.Add(-time.Duration(n)*time.Second))
	}}
	if err := log.History(func(l audit.Line) bool { return m.hear(&l) }); err != nil || log.read != statsLines+1 {
		t.Errorf("%d lines, %v", log.read, err)
	}
	var o record.Object
	(&Figures{month: m}).peopleJSON(&o)
	if want := `{"log_since":"2026-11-22T04:13:21Z",`; !strings.HasPrefix(string(o.Bytes()), want) {
		t.Errorf("%s, want %s", o.Bytes(), want)
	}
	old := newMonth(morning, statsLines)
	log = &diary{line: func(n int) audit.Line { return yesTo("x", morning.AddDate(0, 0, -n)) }}
	if err := log.History(func(l audit.Line) bool { return old.hear(&l) }); err != nil || log.read > monthDays+3 {
		t.Errorf("%d lines, %v", log.read, err)
	}
}
