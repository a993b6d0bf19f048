package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
)

// remembering is what a person was told, as the lines of a log would keep it.
type remembering struct {
	was []audit.Finding
	now time.Time
}

// hear returns what a person is told, and keeps it.
func (r *remembering) hear(found ...Finding) string {
	var said []string
	for _, n := range Memory(r.was, found, r.now) {
		said = append(said, fmt.Sprintf("%s %s/%s", n.What, n.Code, n.About))
		key := store.FindingKey(string(n.Code), n.About)
		var rest []audit.Finding
		for _, w := range r.was {
			if store.FindingKey(w.Code, w.About) != key {
				rest = append(rest, w)
			}
		}
		if r.was = rest; n.What != audit.FindingClosed {
			r.was = append(r.was, audit.Finding{What: n.What, Code: string(n.Code), About: n.About, Text: n.Text, Since: n.Since, Told: r.now})
		}
	}
	return strings.Join(said, ", ")
}

func of(code Code, n int) Finding { return Finding{Code: code, Task: id(n), Text: "x"} }

// TestMemory: hour by hour, a person is told what began, what lasts once a day and together, and
// what ended.
func TestMemory(t *testing.T) {
	r, silent := remembering{now: now}, Finding{Code: Silent, Text: "for 25h"}
	older := Finding{Code: Silent, Text: "for 26h"}
	one, two, three, other := of(codeFailed, 1), of(codeFailed, 2), of(codeFailed, 3), of(codeFailed, 4)
	for i, c := range []struct {
		after time.Duration
		found []Finding
		want  string
	}{
		{0, nil, ""},
		{time.Hour, []Finding{silent}, "opened silent/"},
		{time.Hour, []Finding{older}, ""}, // its text says another age
		{time.Hour, []Finding{older, one}, "opened failed/" + id(1)},
		{20 * time.Hour, []Finding{older, one}, ""},
		{2*time.Hour - time.Minute, []Finding{older, one}, "told silent/, told failed/" + id(1)}, // both at once, and a timer may be early
		{time.Hour, []Finding{older, one}, ""},
		{time.Hour, []Finding{one}, "closed silent/"},
		{time.Hour, []Finding{one, two, three}, "opened failed/" + id(2) + ", opened failed/" + id(3)},
		{time.Hour, []Finding{three, other}, "opened failed/" + id(4) + ", closed failed/" + id(1) + ", closed failed/" + id(2)},
		{time.Hour, nil, "closed failed/" + id(3) + ", closed failed/" + id(4)},
		{time.Hour, nil, ""},
		{time.Hour, []Finding{silent}, "opened silent/"},
		{-50 * time.Hour, []Finding{silent}, "told silent/"}, // the clock was ahead
		{time.Hour, []Finding{silent}, ""},
		{time.Hour, []Finding{silent, silent}, "opened silent/#2"},
		{time.Hour, []Finding{silent, silent}, ""},
	} {
		r.now = r.now.Add(c.after)
		if got := r.hear(c.found...); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}

// TestMemoryOfTurns: tasks that wait for a person come one after the other, and are told of twice
// a day at most. That a person has answered is no news; it is told with the next one.
func TestMemoryOfTurns(t *testing.T) {
	r, mails := remembering{now: now}, 0
	var found []Finding
	for hour := range 48 {
		found = append(found, of(Waiting, hour))
		if len(found) > 3 {
			found = found[1:]
		}
		if r.hear(found...) != "" {
			mails++
		}
		r.now = r.now.Add(time.Hour)
	}
	if mails != 4 || len(r.was) > 4 {
		t.Errorf("%d mails in two days, and %d are remembered", mails, len(r.was))
	}
	if got := r.hear(); got != "" {
		t.Errorf("all is answered: %q", got)
	}
	n := len(r.was)
	if got := r.hear(Finding{Code: Silent}); strings.Count(got, "closed waiting/") != n || n == 0 || len(r.was) != 1 {
		t.Errorf("with the next one: %q", got)
	}
}

// TestMemoryOfLimits: when a limit lets go was told before, so that its end is told with the next
// thing. One that holds again days later holds since then.
func TestMemoryOfLimits(t *testing.T) {
	r, limit := remembering{now: now}, Finding{Code: codeLimited, About: "ask", Text: "x"}
	for i, c := range []struct {
		after time.Duration
		found []Finding
		want  string
	}{
		{0, []Finding{limit}, "opened limited/ask"},
		{5 * time.Hour, nil, ""},
		{5 * time.Hour, []Finding{limit}, ""},
		{30 * time.Hour, nil, ""},
		{100 * time.Hour, []Finding{limit}, "told limited/ask"},
		{time.Hour, nil, ""},
		{time.Hour, []Finding{{Code: Silent}}, "opened silent/, closed limited/ask"},
	} {
		r.now = r.now.Add(c.after)
		if got := r.hear(c.found...); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
		if i == 4 && !r.was[0].Since.Equal(r.now) {
			t.Errorf("it holds since %s, want %s", r.was[0].Since, r.now)
		}
	}
}

// TestMemoryIsBounded: a number that grows is not told each hour.
func TestMemoryIsBounded(t *testing.T) {
	r := remembering{now: now}
	told := func(n int) string {
		var s some
		for i := range n {
			s.add(of(codeFailed, i))
		}
		return r.hear(s.findings(codeFailed, "x")...)
	}
	if got := told(25); strings.Count(got, "opened") != named+1 {
		t.Error(got)
	}
	for n := 26; n < 40; n++ {
		r.now = r.now.Add(time.Hour)
		if got := told(n); got != "" {
			t.Errorf("%d: %s", n, got)
		}
	}
}
