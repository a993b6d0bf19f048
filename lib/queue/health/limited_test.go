package health

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// limits makes the limits of a policy known.
func limits(day, sender int) func(*Facts) {
	return func(f *Facts) {
		p := policy.Default()
		p.Limits.MaxPerDay, p.Limits.PerSenderPerHour = day, sender
		f.Limits = func(v store.View) (*queue.Limiter, error) { return queue.LimiterOf(v, p, f.MaxWaiting, f.Now) }
	}
}

// starts returns so many starts of asks of an external sender, at the same time.
func starts(n int, sender string, age time.Duration) (log []audit.Line) {
	for range n {
		l := start(task.Ask, "", age)
		l.From, l.To, l.Sender, l.Source, l.Trust, l.Action = task.Scheduled, task.Running, sender, "s", terms.ExternalVerified, terms.ReadPublic
		log = append(log, l)
	}
	return log
}

// external returns an ask of an external sender that has been due for so long.
func external(n int, sender string, age time.Duration) store.Entry {
	l := starts(1, sender, age)[0]
	l.Task, l.To, l.Change.Since = id(n), task.Scheduled, l.Time
	return store.EntryOf(&l)
}

// TestLimited: a limit that keeps tasks for more than an hour is named with the time at which it
// lets go, and nobody is told to start them.
func TestLimited(t *testing.T) {
	const half = "limits.max_per_day, of which external senders get half"
	own := entry(9, task.Scheduled, 3*time.Hour)
	fresh, old := external(1, "a@example.com", time.Minute), external(2, "a@example.com", 9*time.Hour)
	soon := external(3, "a@example.com", 3*time.Hour)
	for what, c := range map[string]struct {
		w      world
		change func(*Facts)
		want   []string
	}{
		"no policy": {w: world{open: []store.Entry{old}, log: starts(2, "a@example.com", time.Hour)}, want: []string{"overdue: "}},
		"half of a day": {w: world{open: []store.Entry{fresh, old}, log: starts(2, "b@example.com", time.Hour)}, change: limits(4, 9),
			want: []string{"limited: 2 asks are due and wait for " + half + ", which lets go of the first at 2026-11-22T06:00:00Z; "}},
		"all of a day": {w: world{open: []store.Entry{own}, log: starts(2, "b@example.com", 2*time.Hour)}, change: limits(2, 9),
			want: []string{"limited: task " + own.ID + " (ask) is due and waits for limits.max_per_day, which lets go at 2026-11-22T05:00:00Z; "}},
		"others are free": {w: world{open: []store.Entry{own, old}, log: starts(2, "b@example.com", time.Hour)}, change: limits(4, 9),
			want: []string{"limited: task " + old.ID, "overdue: task " + own.ID}},
		"an hour's share, for less than four": {w: world{open: []store.Entry{fresh, soon}, log: starts(2, "a@example.com", 10*time.Minute)}, change: limits(40, 2)},
		"an hour's share, for hours": {w: world{open: []store.Entry{old}, log: starts(2, "a@example.com", 10*time.Minute)}, change: limits(40, 2),
			want: []string{"limited: task " + old.ID + " (ask) is due and waits for limits.per_sender_per_hour, which lets go at 2026-11-21T07:50:00Z; "}},
		"of another sender": {w: world{open: []store.Entry{old}, log: starts(2, "b@example.com", 10*time.Minute)}, change: limits(40, 2),
			want: []string{"overdue: "}},
		"it let go just now": {w: world{open: []store.Entry{old}, log: starts(2, "b@example.com", 25*time.Hour)}, change: limits(4, 9)},
		"it let go, and nobody starts": {w: world{open: []store.Entry{old}, log: starts(2, "b@example.com", 27*time.Hour)}, change: limits(4, 9),
			want: []string{"overdue: "}},
		"on hold": {w: world{open: []store.Entry{old, own}, log: starts(2, "b@example.com", time.Hour), held: &audit.Line{Time: now}}, change: limits(4, 9),
			want: []string{"held: "}},
	} {
		f := facts()
		f.MaxSilence = 0
		if c.change != nil {
			c.change(f)
		}
		found, err := Look(shop{&c.w}, f)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range found {
			got = append(got, x.Line())
		}
		slices.Sort(got)
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// TestNothingIsOverdueOnHold: the hold is named, and not that nobody starts or reads what is due,
// until those who start had time after the release.
func TestNothingIsOverdueOnHold(t *testing.T) {
	unread := func(_ store.View, e *store.Entry) (bool, error) { return e.ID == id(1), nil }
	released := func(age time.Duration) []audit.Line {
		return []audit.Line{{Time: now.Add(-age), Event: audit.Released}}
	}
	for what, c := range map[string]struct {
		w    world
		want []Code
	}{
		"held":             {world{held: &audit.Line{Time: now}}, []Code{codeHeld}},
		"restored":         {world{lost: "it lacks a line"}, []Code{Restored}},
		"neither":          {world{}, []Code{codeUnread, codeOverdue}},
		"released":         {world{log: released(time.Minute)}, nil},
		"released earlier": {world{log: released(100 * time.Minute)}, []Code{codeUnread}},
		"long ago":         {world{log: released(3 * time.Hour)}, []Code{codeUnread, codeOverdue}},
	} {
		f := facts()
		f.Unread, c.w.open = unread, []store.Entry{entry(1, task.Scheduled, 9*time.Hour), entry(2, task.Scheduled, 9*time.Hour)}
		if got := codes(t, &c.w, f); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}

// TestLimitedEffects: that a limit keeps effects waiting is told at once, although all of another
// action fail; of asks that are started in vain, it is no news.
func TestLimitedEffects(t *testing.T) {
	for kind, want := range map[task.Kind]string{task.Effect: "opened limited/effect limits.max_per_day", task.Ask: ""} {
		failing := tries([]try{{2, 5 * time.Minute, 1, "x"}, {1, 6 * time.Minute, 1, "x"}, {2, 20 * time.Minute, 1, "x"}}, func(s, l *audit.Line) {
			if s.Kind, l.Kind = kind, kind; kind == task.Effect {
				s.Action, l.Action = terms.ExternalSend, terms.ExternalSend
			}
		})
		due := entry(9, task.Scheduled, 3*time.Hour)
		if due.Kind = kind; kind == task.Effect {
			due.Action = terms.Destructive
		}
		r := remembering{now: now}
		for i, open := range [][]store.Entry{nil, {due}} {
			f := facts()
			limits(2, 9)(f)
			found, err := Look(shop{&world{log: failing, open: open}}, f)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.hear(found...); i == 1 && got != want {
				t.Errorf("%s: %q, want %q", kind, got, want)
			}
		}
	}
}
