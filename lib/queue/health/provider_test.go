package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// try is one attempt.
type try struct {
	task int
	age  time.Duration // of its end
	exit int
	said string
}

// tries returns the lines of attempts, the newest first. A change may make them those of another
// kind.
func tries(list []try, change func(start, end *audit.Line)) (log []audit.Line) {
	for _, a := range list {
		l := audit.Line{Event: task.Retried, Kind: task.Ask, Action: terms.ReadPublic, Task: id(a.task), Time: now.Add(-a.age),
			From: task.Running, To: task.Scheduled, End: &audit.End{Exit: a.exit, Said: a.said}}
		l.Change.Reason = queue.ReasonExit
		switch a.exit {
		case 0:
			l.Event, l.To, l.Change.Reason = task.Finished, task.Completed, queue.ReasonDone
		case 75:
			l.Change.Reason = queue.ReasonLater
		}
		s := audit.Line{Event: task.Started, Kind: l.Kind, Action: l.Action, Task: l.Task, Time: l.Time.Add(-time.Minute),
			From: task.Scheduled, To: task.Running}
		if change != nil {
			change(&s, &l)
		}
		log = append(log, l, s)
	}
	return log
}

// TestProvider: starts that end alike, and none well among them, are one finding that says how, and
// nobody is told to start them.
func TestProvider(t *testing.T) {
	const m, h = time.Minute, time.Hour
	reads := func(s, l *audit.Line) {
		s.Change.Reason = queue.ReasonReading
		if l.End.Exit == 0 {
			l.Event, l.To, l.Change.Reason = task.Extracted, task.Scheduled, queue.ReasonExtracted
		} else if l.End.Exit != 75 {
			l.Change.Reason = queue.ReasonUnread
		}
	}
	sends := func(s, l *audit.Line) {
		for _, x := range []*audit.Line{s, l} {
			x.Kind, x.Action = task.Effect, terms.ExternalSend
		}
	}
	away := []try{{1, 5 * m, 75, "timeout"}, {2, 30 * m, 75, "no route"}, {1, 45 * m, 75, ""}, {1, 70 * m, 75, ""}}
	key := []try{{2, 5 * m, 1, "401 invalid x-api-key (request req_01ab)"}, {1, 6 * m, 1, "401 invalid x-api-key (request req_77)"},
		{2, 20 * m, 1, "401 invalid x-api-key (request req_2)"}}
	for what, c := range map[string]struct {
		tries  []try
		change func(start, end *audit.Line)
		open   []store.Entry
		want   string
	}{
		"away for an hour": {tries: away, want: "provider: no start of asks has ended well since 2026-11-21T05:49:00Z: all 4 (2 tasks) " +
			"ended with 75, which asks for another start later, the last one at 2026-11-21T06:55:00Z, and said \"timeout\"; pulse-queue show " + id(1)},
		"for less":              {tries: away[:3]},
		"one task, for so long": {tries: []try{{1, 5 * m, 75, ""}, {1, 30 * m, 75, ""}, {1, 70 * m, 75, ""}}, want: "provider: no start of asks has ended well since 2026-11-21T05:49:00Z: all 3 (one task)"},
		"two starts":            {tries: []try{{1, 5 * m, 75, ""}, {1, 70 * m, 75, ""}}},
		"two days ago":          {tries: []try{{1, 50 * h, 75, ""}, {2, 51 * h, 75, ""}, {1, 52 * h, 75, ""}}},
		"it came back":          {tries: append([]try{{3, 4 * m, 0, ""}}, away...)},
		"it came back between":  {tries: []try{away[0], {3, 40 * m, 0, ""}, away[2], away[3]}},
		"a key": {tries: key, want: "provider: no start of asks has ended well since 2026-11-21T06:39:00Z: all 3 (2 tasks) " +
			"ended with exit status 1, the last one at 2026-11-21T06:55:00Z, and said \"401 invalid x-api-key (request req_01ab)\"; "},
		"one task fails":   {tries: []try{{1, 5 * m, 1, "x"}, {1, 20 * m, 1, "x"}, {1, 40 * m, 1, "x"}}},
		"each in its way":  {tries: []try{{1, 5 * m, 1, "one"}, {2, 20 * m, 1, "two"}, {3, 40 * m, 2, "one"}}},
		"most of them":     {tries: append([]try{{4, 4 * m, 3, "bad mail"}}, key...), want: "provider: no start of asks has ended well since 2026-11-21T06:39:00Z: 3 of 4 (2 tasks)"},
		"killed":           {tries: []try{{1, 5 * m, -1, ""}, {2, 20 * m, -1, ""}, {3, 40 * m, -1, ""}}, want: "provider: no start of asks has ended well since 2026-11-21T06:19:00Z: all 3 (3 tasks) ended without an exit status: "},
		"what it says":     {tries: []try{{1, 5 * m, 1, "\x1b[2J"}, {2, 6 * m, 1, "\x1b[2J"}, {3, 7 * m, 1, "\x1b[2J"}}, want: `provider: no start of asks has ended well since 2026-11-21T06:52:00Z: all 3 (3 tasks) ended with exit status 1, the last one at 2026-11-21T06:55:00Z, and said "\x1b[2J"; `},
		"told to stop":     {tries: key, change: func(_, l *audit.Line) { l.Event, l.Change.Reason = task.Restarted, queue.ReasonDied }},
		"readers":          {tries: away, change: reads, want: "provider: no start of readers has ended well"},
		"a reader's is ok": {tries: append([]try{{3, 4 * m, 0, ""}}, away...), change: reads},
		"senders":          {tries: key, change: sends, want: "provider: no start of external_send has ended well"},
		"due, and started in vain": {tries: away, open: []store.Entry{entry(1, task.Scheduled, 3*h), entry(2, task.Scheduled, 3*h)},
			want: "provider: no start of asks has ended well"},
		"due, and started no more": {tries: []try{{1, 3 * h, 75, ""}, {2, 4 * h, 75, ""}, {1, 5 * h, 75, ""}}, open: []store.Entry{entry(1, task.Scheduled, 3*h)},
			want: "provider: no start of asks has ended well since 2026-11-21T01:59:00Z: all 3 (2 tasks) ended with 75, which asks for another start later, the last one at 2026-11-21T04:00:00Z; pulse-queue show " +
				id(1) + "\noverdue: task " + id(1)},
	} {
		w := world{log: tries(c.tries, c.change), open: c.open}
		found, err := Look(shop{&w}, facts())
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, x := range found {
			lines = append(lines, x.Line())
		}
		got := strings.Join(lines, "\n")
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) || strings.Count(got, "\n") != strings.Count(c.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", what, got, c.want)
		}
	}
}

// TestProviderAndReaders: that no reader reads is told, unless all of them are started in vain.
func TestProviderAndReaders(t *testing.T) {
	all := []try{{1, 5 * time.Minute, 75, ""}, {2, 30 * time.Minute, 75, ""}, {1, 70 * time.Minute, 75, ""}}
	for of, want := range map[side]string{asks: "[provider unread]", readers: "[provider]"} {
		w := world{open: []store.Entry{entry(1, task.Scheduled, 3*time.Hour)}}
		w.log = tries(all, func(s, _ *audit.Line) {
			if of == readers {
				s.Change.Reason = queue.ReasonReading
			}
		})
		f := facts()
		f.Unread = func(store.View, *store.Entry) (bool, error) { return true, nil }
		if got := fmt.Sprint(codes(t, &w, f)); got != want {
			t.Errorf("%s: %s, want %s", of, got, want)
		}
	}
}

// TestFailedWithAll: tasks that fail for good as all do are told with that, and not one by one; others
// are at once.
func TestFailedWithAll(t *testing.T) {
	key := []try{{2, 5 * time.Minute, 1, "401"}, {1, 6 * time.Minute, 1, "401"}, {2, 20 * time.Minute, 1, "401"}}
	w := world{log: tries(key, nil), ended: map[task.State][]string{}}
	look := func() []Finding {
		found, err := Look(shop{&w}, facts())
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	r := remembering{now: now}
	for i, c := range []struct {
		change func()
		want   string
	}{
		{func() {}, "opened provider/asks, exit 1"},
		{func() { w.ended[task.Failed] = []string{id(1)} }, ""},
		{func() { w.ended[task.Failed] = []string{id(1), id(9)} }, "opened failed/" + id(1) + ", opened failed/" + id(9)},
		{func() { w.ended[task.Failed] = []string{id(1), id(2), id(9)} }, ""},
		{func() { w.log = tries(append([]try{{3, time.Minute, 0, ""}}, key...), nil) }, "opened failed/" + id(2) + ", closed provider/asks, exit 1"},
	} {
		c.change()
		if got := r.hear(look()...); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}

// TestAnotherCause: that starts end in another way is told at once, and not a day later.
func TestAnotherCause(t *testing.T) {
	look := func(exit int, said string) []Finding {
		w := world{log: tries([]try{{2, 5 * time.Minute, exit, said}, {1, 70 * time.Minute, exit, said}, {2, 80 * time.Minute, exit, said}}, nil)}
		found, err := Look(shop{&w}, facts())
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	r := remembering{now: now}
	for i, c := range []struct {
		exit       int
		said, want string
	}{
		{75, "timeout", "opened provider/asks, exit 75"},
		{75, "no route", ""},
		{1, "401", "opened provider/asks, exit 1, closed provider/asks, exit 75"},
		{1, "402", ""},
	} {
		if got := r.hear(look(c.exit, c.said)...); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}
