package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// chronicle is a queue whose clock is set by a test.
type chronicle struct{ *queuetest.Memory }

func (c chronicle) History(fn func(audit.Line) bool, _ ...task.Event) error {
	return c.View(func(v store.View) error { return v.Back(fn) })
}

// TestLeaps: a clock that went on for days in which nothing was done is told where silence has a line
// each day, until a person vouches for it; one that was wrong is in any case.
func TestLeaps(t *testing.T) {
	mail, brake := queuetest.Add(queuetest.Mails(1, 1)...), queuetest.Brake(audit.Released)
	const gap = "the log has no line for 12d, until 2026-11-20T07:00:00Z: nothing ran here, or the clock jumped ahead: by that clock, before it was believed, "
	for name, c := range map[string]struct {
		ago    []time.Duration // of lines, the first a mail
		mails  bool            // the last is one, too
		vouch  bool
		last   task.Event // besides
		change func(*Facts)
		want   string // "": nothing
	}{
		"no jump":             {ago: []time.Duration{50 * time.Hour, 4 * time.Hour}},
		"twelve days":         {ago: []time.Duration{13 * day, day}, want: gap + "nothing was done; timedatectl; if it is right: pulse-queue release --clock"},
		"and a mail":          {ago: []time.Duration{13 * day, day}, mails: true, want: gap + "1 added; "},
		"three days":          {ago: []time.Duration{4 * day, day}, want: "the log has no line for 3d, until 2026-11-20T07:00:00Z: nothing ran here, "},
		"and two days more":   {ago: []time.Duration{5 * day, 2 * day}},
		"vouched for":         {ago: []time.Duration{13 * day, day}, vouch: true},
		"held":                {ago: []time.Duration{13 * day, day}, last: audit.Held},
		"a week ago":          {ago: []time.Duration{20 * day, 8 * day}},
		"silence is long":     {ago: []time.Duration{13 * day, day}, change: func(f *Facts) { f.MaxSilence = 14 * day }},
		"silence is not told": {ago: []time.Duration{13 * day, day}, change: func(f *Facts) { f.MaxSilence = 0 }},
		"for 40 days":         {ago: []time.Duration{41 * day, day}, change: func(f *Facts) { f.MaxSilence = 0 }, want: "the log has no line for 40d, "},
		"back":                {ago: []time.Duration{2 * day, 5 * day, 5*day - 2*time.Hour}, want: "the clock jumped 3d back, from "},
		"back, vouched for":   {ago: []time.Duration{day, 4 * day, 4*day - 2*time.Hour}, vouch: true, want: "the clock jumped 3d back, from "},
		"ahead, and right":    {ago: []time.Duration{3 * day, -5 * day, 2*day + 12*time.Hour}, want: "the clock jumped 8d ahead, from "},
	} {
		store := queuetest.NewMemory()
		do := func(op queuetest.Operation, at time.Time) {
			if err := op.Do(store, at); err != nil {
				t.Fatal(name, err)
			}
		}
		for i, ago := range c.ago {
			if op := brake; i == 0 {
				do(mail, now.Add(-ago))
			} else if c.mails && i == len(c.ago)-1 {
				do(queuetest.Add(queuetest.Mails(2, 1)...), now.Add(-ago))
			} else {
				do(op, now.Add(-ago))
			}
		}
		if c.last != "" {
			do(queuetest.Brake(c.last), now.Add(-time.Hour))
		}
		if c.vouch {
			do(queuetest.Confirm, now.Add(-time.Hour))
		}
		f := facts()
		if f.MaxRefused = 0; c.change != nil {
			c.change(f)
		}
		found, err := Look(chronicle{store}, f)
		if err != nil {
			t.Fatal(name, err)
		}
		i := slices.IndexFunc(found, func(x Finding) bool { return x.Code == codeJumped })
		if got := i >= 0 && c.want != "" && strings.HasPrefix(found[i].Line(), "clock_jumped: "+c.want); !got && (i >= 0 || c.want != "") {
			t.Errorf("%s: %+v, want %s", name, found, c.want)
		}
	}
}

// account is a queue that is told of, by clocks as a test sets them.
type account struct {
	t     *testing.T
	store *queuetest.Memory
}

func (a account) do(at time.Time, ops ...queuetest.Operation) {
	a.t.Helper()
	for _, op := range ops {
		if err := op.Do(a.store, at); err != nil {
			a.t.Fatal(op.Name, err)
		}
	}
}

// found returns what health finds of clocks.
func (a account) found(at time.Time) (list []Finding) {
	a.t.Helper()
	f := facts()
	f.Now, f.MaxRefused = at, 0
	all, err := Look(chronicle{a.store}, f)
	if err != nil {
		a.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(x Finding) bool { return x.Code != codeJumped && x.Code != Clock })
}

// hear returns what a person is told of clocks, and keeps it.
func (a account) hear(at time.Time) (said []string) {
	a.t.Helper()
	found := a.found(at)
	a.do(at, queuetest.Update("tell", func(tx *queue.Tx, now time.Time) error {
		was, err := queue.FindingsOf(tx)
		for _, n := range Memory(was, found, now) {
			said = append(said, string(n.What)+" "+n.Line())
			if err := n.Tell(tx, now); err != nil {
				return err
			}
		}
		return err
	}))
	return said
}

// TestEachLeap: a jump is told when it is found, although another one is told of already.
func TestEachLeap(t *testing.T) {
	a, brake := account{t, queuetest.NewMemory()}, queuetest.Brake(audit.Released)
	const h = time.Hour
	a.do(now, queuetest.Add(queuetest.Mails(1, 1)...))
	a.do(now.Add(-5*h), brake)
	a.do(now.Add(2*time.Minute), brake)
	for i, c := range []struct {
		at   time.Duration
		want string // the beginning of what is told; empty: nothing is
	}{{h, "opened clock_jumped: the clock jumped 5h back"}, {2 * h, ""}, {13 * h, "opened clock_jumped: the clock jumped 20d back"}, {14 * h, ""}, {26 * h, "told clock_jumped: "}} {
		if i == 2 {
			a.do(now.Add(12*h), brake)
			a.do(now.Add(-20*day), brake)
			a.do(now.Add(12*h+2*time.Minute), brake)
		}
		if said := a.hear(now.Add(c.at)); c.want == "" && len(said) > 0 || c.want != "" && (len(said) == 0 || !strings.HasPrefix(said[0], c.want)) {
			t.Errorf("after %s: %q, want %q", c.at, said, c.want)
		}
	}
}

// TestWeekend: that nothing ran for some days is told once, and once that it is put away; of a clock
// that went on for longer a person is reminded each day.
func TestWeekend(t *testing.T) {
	for gap, want := range map[time.Duration]string{
		3 * day: "opened after 0, closed after 48", 12 * day: "opened after 0, told after 24, told after 48, told after 72",
	} {
		a, said := account{t, queuetest.NewMemory()}, []string{}
		a.do(now, queuetest.Add(queuetest.Mails(1, 1)...))
		back := now.Add(gap)
		a.do(back, queuetest.Add(queuetest.Mails(2, 1)...))
		for hours := range 80 {
			at := back.Add(time.Duration(hours) * time.Hour)
			a.do(at, queuetest.Brake(audit.Released)) // what is open is another matter
			for _, line := range a.hear(at) {
				what, _, _ := strings.Cut(line, " ")
				said = append(said, fmt.Sprintf("%s after %d", what, hours))
			}
		}
		if got := strings.Join(said, ", "); got != want {
			t.Errorf("%s: %s, want %s", gap, got, want)
		}
	}
}

// TestAheadOfTheClock: that the log is ahead of the clock is told, unless what is told of jumps
// says it.
func TestAheadOfTheClock(t *testing.T) {
	brake, add := queuetest.Brake(audit.Released), queuetest.Add(queuetest.Mails(1, 1)...)
	const h = time.Hour
	for name, c := range map[string]struct {
		lines []time.Duration // after a mail
		last  task.Event
		at    time.Duration
		want  string
	}{
		"an older jump":                  {lines: []time.Duration{-5 * h, time.Minute, 20 * h}, at: -400 * day, want: "[clock clock_jumped]"},
		"a jump ahead of the right time": {lines: []time.Duration{12 * day}, at: h, want: "[clock_jumped]"},
		"the same, held":                 {lines: []time.Duration{12 * day}, last: audit.Held, at: h, want: "[clock]"},
		"no jump":                        {lines: []time.Duration{h}, at: -h, want: "[clock]"},
	} {
		a := account{t, queuetest.NewMemory()}
		a.do(now, add)
		for _, d := range c.lines {
			a.do(now.Add(d), brake)
		}
		if c.last != "" {
			a.do(now.Add(c.lines[len(c.lines)-1]), queuetest.Brake(c.last))
		}
		var got []Code
		for _, x := range a.found(now.Add(c.at)) {
			got = append(got, x.Code)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// TestResumed: a person who lets a restored queue start says why the log has no line before that, and
// nothing of the days before.
func TestResumed(t *testing.T) {
	brake, resumed := queuetest.Brake(audit.Released), queuetest.Brake(audit.Resumed)
	const h = time.Hour
	for name, c := range map[string]struct {
		lines  []time.Duration // before now, after a mail of 20 days ago
		resume time.Duration
		want   int
	}{
		"it is the first line":   {resume: h, want: 0},
		"the next":               {lines: []time.Duration{6 * h}, resume: 6*h - time.Minute, want: 0},
		"hours later":            {lines: []time.Duration{6 * h}, resume: h, want: 0},
		"the first, a day ago":   {lines: []time.Duration{50 * h}, resume: 26 * h, want: 1},
		"others are between":     {lines: []time.Duration{30 * h, 20 * h}, resume: h, want: 1},
		"another jump is before": {lines: []time.Duration{6 * day}, resume: h, want: 1},
	} {
		a := account{t, queuetest.NewMemory()}
		a.do(now.Add(-20*day), queuetest.Add(queuetest.Mails(1, 1)...))
		for _, d := range c.lines {
			a.do(now.Add(-d), brake)
		}
		a.do(now.Add(-c.resume), resumed)
		if found := a.found(now); len(found) != c.want {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestLateNotDue: what is not due is not late, although the clock once went back.
func TestLateNotDue(t *testing.T) {
	old := now.AddDate(0, 0, -20)
	f := facts()
	f.clock = clock.Clock{Now: now, Jump: clock.Jump{From: old.Add(2 * time.Hour), To: old, Began: old}, Confirmed: true}
	due := later(entry(1, task.Scheduled, 3*time.Hour), -time.Hour)
	again, stands := later(due, 2*time.Hour), due
	stands.NotBefore = store.Forever
	for name, e := range map[string]store.Entry{"a retry": again, "a standing ask": stands} {
		if got := f.late(&e); got > 0 {
			t.Errorf("%s is late by %v", name, got)
		}
	}
	if got := f.late(&due); got != time.Hour {
		t.Errorf("what was due an hour ago is late by %v", got)
	}
}
