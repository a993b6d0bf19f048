package health

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// now is the time of these tests.
var now = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

// world is a queue that holds what a test puts into it.
type world struct {
	store.View
	open  []store.Entry
	gone  []string // open tasks that have no file
	ended map[task.State][]string
	log   []audit.Line // newest first
	held  *audit.Line
	lost  string
	lies  time.Duration // how old what has ended is
	read  int           // lines of the log that were read whole
	asked int           // how often State was called
	fault error
}

func (w *world) Get(s store.Shelf, key string) (item store.Item, err error) {
	if s != store.Hold || w.held == nil {
		return item, store.ErrUnknown
	}
	item.Bytes = w.held.Append(nil)
	return item, nil
}

func (w *world) Lost() (string, error) { return w.lost, nil }

func (w *world) Has(s store.Shelf, id string) (bool, error) {
	return slices.ContainsFunc(w.open, func(e store.Entry) bool { return e.ID == id && store.On(e.State) == s }) && !slices.Contains(w.gone, id), nil
}

func (w *world) There(s store.Shelf) (func(id string) bool, error) {
	return func(id string) bool { there, _ := w.Has(s, id); return there }, nil
}

func (w *world) Look([]string, bool) error { return nil }

func (w *world) Clock() (now, last time.Time, err error) {
	err = w.Back(func(l audit.Line) bool {
		last = l.Time
		return false
	})
	return now, last, err
}

func (w *world) Where(id string) (st task.State, _ error) {
	w.asked++
	for _, e := range w.open {
		if e.ID == id && !slices.Contains(w.gone, id) {
			st = e.State
		}
	}
	return st, nil
}

func (w *world) Counts() store.Counts {
	c := store.Counts{Tasks: map[task.State]int{}}
	for st, ids := range w.ended {
		c.Tasks[st] = len(ids)
	}
	return c
}

func (w *world) Open(_ task.State, fn func(store.Entry) (bool, error)) error {
	for _, e := range w.open {
		if more, err := fn(e); err != nil || !more {
			return err
		}
	}
	return w.fault
}

func (w *world) Each(s store.Shelf, fn func(string, time.Time) (bool, error)) error {
	for _, id := range w.ended[task.State(s)] {
		if more, err := fn(id, now.Add(-w.lies)); err != nil || !more {
			return err
		}
	}
	return nil
}

func (w *world) Back(fn func(audit.Line) bool, _ ...task.Event) error {
	for _, l := range w.log {
		if !fn(l) {
			break
		}
	}
	return nil
}

func (w *world) History(fn func(audit.Line) bool, events ...task.Event) error {
	for _, l := range w.log {
		if len(events) > 0 && !slices.Contains(events, l.Event) {
			l = audit.Line{Time: l.Time, Event: l.Event}
		} else {
			w.read++
		}
		if !fn(l) {
			return nil
		}
	}
	return nil
}

// shop is the queue of a world.
type shop struct{ *world }

func (s shop) View(fn func(store.View) error) error { return fn(s.world) }

func facts() *Facts {
	return &Facts{
		Now: now, Made: now.Add(-time.Hour), Owner: 1000, Dead: func(string) bool { return true },
		Inodes: 1000, FreeInodes: 10, MaxSilence: 24 * time.Hour, MaxWaiting: 2 * time.Hour, MaxPutOff: 24 * time.Hour,
	}
}

// codes returns the codes of the findings.
func codes(t *testing.T, w *world, f *Facts) (list []Code) {
	t.Helper()
	found, err := Look(shop{w}, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range found {
		if x.Text == "" || x.Do == "" || strings.Contains(x.Line(), "%!") {
			t.Errorf("%+v", x)
		}
		list = append(list, x.Code)
	}
	return list
}

func id(n int) string { return fmt.Sprintf("%032x", n) }

func entry(n int, st task.State, age time.Duration) store.Entry {
	return store.Entry{ID: id(n), State: st, Kind: task.Ask, Action: terms.ReadPublic, Since: now.Add(-age)}
}

func later(e store.Entry, in time.Duration) store.Entry {
	e.NotBefore = now.Add(in)
	return e
}

func line(e task.Event, age time.Duration) audit.Line {
	return audit.Line{Time: now.Add(-age), Event: e, Task: id(1), Kind: task.Ask}
}

func mail(age time.Duration) audit.Line {
	l := line(task.Refused, age)
	l.Source = "maildir:Maildir"
	return l
}

func taken(age time.Duration) audit.Line {
	l := line(task.Added, age)
	l.Source = "maildir:Maildir"
	return l
}

func refusal(age time.Duration) audit.Line {
	l := mail(age)
	l.Change.Reason = "not_verified"
	return l
}

// putOff returns the line of the log for a worker that ended.
func putOff(age time.Duration, why string) audit.Line {
	l := line(task.Retried, age)
	l.From, l.To, l.Change.Reason = task.Running, task.Scheduled, why
	return l
}

func start(k task.Kind, account string, age time.Duration) audit.Line {
	l := line(task.Started, age)
	l.Kind, l.Account, l.Action = k, account, terms.ExternalSend
	return l
}

// weeks makes the queue old, and a week without an accepted message a finding.
func weeks(f *Facts) { f.Made, f.MaxSilence, f.MaxRefused = now.Add(-30*day), 0, 7*day }

// said returns a log in which a worker asks to be run later, again and again.
func said(ages ...time.Duration) (log []audit.Line) {
	for _, age := range ages {
		started := line(task.Started, age+time.Minute)
		started.From, started.To = task.Scheduled, task.Running
		log = append(log, putOff(age, queue.ReasonLater), started)
	}
	return log
}

func TestLook(t *testing.T) {
	for what, c := range map[string]struct {
		w      world
		change func(*Facts)
		want   []Code
	}{
		"nothing": {},
		"a new queue that had no mail": {
			change: func(f *Facts) { f.Made = now.Add(-25 * time.Hour) }, want: []Code{Silent}},
		"no limit to silence": {
			change: func(f *Facts) { f.Made, f.MaxSilence = now.Add(-25*time.Hour), 0 }},
		"only tasks of one's own": {
			w: world{log: []audit.Line{line(task.Added, 3*day)}}, change: func(f *Facts) { f.Made = now.Add(-9 * day) }},
		"proposals that are taken soon": {w: world{lies: time.Hour, ended: map[task.State][]string{task.State(store.Outbox): {id(1)}}}},
		"proposals that nobody takes": {
			w: world{lies: time.Hour + time.Second, ended: map[task.State][]string{task.State(store.Outbox): {id(1), id(2)}}}, want: []Code{codeUntaken}},
		"mail in time":      {w: world{log: []audit.Line{line(task.Added, time.Hour), mail(23 * time.Hour)}}},
		"mail too long ago": {w: world{log: []audit.Line{line(task.Added, time.Hour), mail(25 * time.Hour)}}, want: []Code{Silent}},
		"only the work on old mail": {w: world{log: []audit.Line{
			{Time: now, Event: task.Finished, Task: id(1), Source: "s"}, mail(25 * time.Hour)}}, want: []Code{Silent}},
		"a position moved in time":  {w: world{log: []audit.Line{mail(9 * day)}}, change: func(f *Facts) { f.Moved = now.Add(-time.Hour) }},
		"a position moved long ago": {change: func(f *Facts) { f.Moved = now.Add(-25 * time.Hour) }, want: []Code{Silent}},
		"a position and another source": {
			w: world{log: []audit.Line{mail(time.Hour)}}, change: func(f *Facts) { f.Moved = now.Add(-25 * time.Hour) }},
		"all was refused": {
			w: world{log: []audit.Line{refusal(time.Hour), refusal(6 * day), taken(8 * day)}}, change: weeks, want: []Code{codeRefused}},
		"all that ever came was refused": {
			w: world{log: []audit.Line{refusal(time.Hour)}}, change: weeks, want: []Code{codeRefused}},
		"one was taken":           {w: world{log: []audit.Line{refusal(time.Hour), taken(6 * day), refusal(8 * day)}}, change: weeks},
		"nothing came at all":     {w: world{log: []audit.Line{taken(8 * day)}}, change: weeks, want: []Code{codeRefused}},
		"nothing ever came":       {change: weeks, want: []Code{codeRefused}},
		"no limit to refusals":    {w: world{log: []audit.Line{refusal(time.Hour)}}, change: func(f *Facts) { weeks(f); f.MaxRefused = 0 }},
		"refused in a new queue":  {w: world{log: []audit.Line{refusal(time.Minute)}}, change: func(f *Facts) { f.MaxRefused = 7 * day }},
		"tasks of one's own only": {w: world{log: []audit.Line{line(task.Added, 8*day)}}, change: weeks},
		"an effect was refused":   {w: world{log: []audit.Line{line(task.Refused, time.Hour), line(task.Added, 8*day)}}, change: weeks},

		"put off for too long": {
			w:    world{open: []store.Entry{later(entry(1, task.Scheduled, time.Hour), time.Hour)}, log: said(time.Hour, 5*time.Hour, 25*time.Hour)},
			want: []Code{codePutOff}},
		"put off for less": {w: world{open: []store.Entry{later(entry(1, task.Scheduled, time.Hour), time.Hour)}, log: said(time.Hour, 5*time.Hour)}},
		"no limit to that": {
			w:      world{open: []store.Entry{later(entry(1, task.Scheduled, time.Hour), time.Hour)}, log: said(time.Hour, 25*time.Hour)},
			change: func(f *Facts) { f.MaxPutOff = 0 }},
		"it failed in between": {w: world{open: []store.Entry{later(entry(1, task.Scheduled, time.Hour), time.Hour)},
			log: slices.Concat(said(time.Hour), []audit.Line{putOff(2*time.Hour, queue.ReasonExit)}, said(25*time.Hour))}},
		"it failed last": {w: world{open: []store.Entry{later(entry(1, task.Scheduled, time.Hour), time.Hour)},
			log: slices.Concat([]audit.Line{putOff(time.Hour, queue.ReasonExit)}, said(25*time.Hour))}},
		"another one was put off": {w: world{open: []store.Entry{later(entry(2, task.Scheduled, time.Hour), time.Hour)}, log: said(25 * time.Hour)}},
		"its file is gone": {
			w: world{open: []store.Entry{entry(1, task.Awaiting, 9*time.Hour), entry(2, task.Awaiting, time.Hour)}, gone: []string{id(1)}}, want: []Code{codeMissing}},
		"no sandbox": {change: func(f *Facts) { f.Lacks = "this kernel has no Landlock" }, want: []Code{codeNoSandbox}},

		"a person is waited for": {
			w: world{open: []store.Entry{entry(1, task.Awaiting, time.Hour), entry(2, task.Awaiting, 3*time.Hour)}}, want: []Code{Waiting}},
		"nothing is started": {
			w:    world{open: []store.Entry{entry(1, task.Scheduled, time.Hour), entry(2, task.Scheduled, 3*time.Hour), entry(3, task.Scheduled, 4*time.Hour)}},
			want: []Code{codeOverdue}},
		"it waits for its time": {w: world{open: []store.Entry{
			later(entry(1, task.Scheduled, 3*time.Hour), time.Hour), later(entry(2, task.Scheduled, 3*time.Hour), -time.Hour)}}},
		"no reader is started": {
			w: world{open: []store.Entry{entry(1, task.Scheduled, 30*time.Minute), entry(2, task.Scheduled, 61*time.Minute), entry(3, task.Scheduled, 3*time.Hour)}},
			change: func(f *Facts) {
				f.Unread = func(_ store.View, e *store.Entry) (bool, error) { return e.ID != id(3), nil }
			},
			want: []Code{codeUnread, codeOverdue}},
		"its time is over":  {w: world{open: []store.Entry{later(entry(1, task.Scheduled, 9*time.Hour), -3*time.Hour)}}, want: []Code{codeOverdue}},
		"no runner has it":  {w: world{open: []store.Entry{entry(1, task.Running, time.Hour)}}, want: []Code{codeAbandoned}},
		"a run will see it": {w: world{open: []store.Entry{entry(1, task.Running, 9*time.Minute)}}},
		"it runs": {w: world{open: []store.Entry{entry(1, task.Running, time.Hour)}},
			change: func(f *Facts) { f.Dead = func(string) bool { return false } }},
		"failed":                             {w: world{ended: map[task.State][]string{task.Failed: {id(1)}, task.Rejected: {id(2)}}}, want: []Code{codeFailed}},
		"corrupt":                            {w: world{ended: map[task.State][]string{task.Corrupt: {id(1)}}}, want: []Code{codeCorrupt}},
		"held":                               {w: world{held: &audit.Line{Time: now, By: "me (uid 1000)"}}, want: []Code{codeHeld}},
		"restored":                           {w: world{lost: "it lacks a line"}, want: []Code{Restored}},
		"nothing is noted":                   {change: func(f *Facts) { f.Unwatched = errors.New("no home") }, want: []Code{codeUnwatched}},
		"full":                               {change: func(f *Facts) { f.Room = errors.New("1 MiB is free") }, want: []Code{DiskLow}},
		"no inodes":                          {change: func(f *Facts) { f.FreeInodes = 9 }, want: []Code{codeInodesLow}},
		"a disk that counts none":            {change: func(f *Facts) { f.Inodes, f.FreeInodes = 0, 0 }},
		"broken":                             {change: func(f *Facts) { f.Chain = []string{"audit/2026-11.jsonl:3: the chain is broken", "x"} }, want: []Code{codeChainBroken}},
		"the log is ahead of the clock":      {w: world{log: []audit.Line{mail(-6 * time.Minute)}}, want: []Code{Clock}},
		"a clock that was set back a little": {w: world{log: []audit.Line{mail(-4 * time.Minute)}}},
		"another account":                    {w: world{log: []audit.Line{mail(time.Hour), start(task.Ask, "agent (uid 1001)", time.Hour)}}},
		"the same account":                   {w: world{log: []audit.Line{mail(time.Hour), start(task.Ask, "pulse (uid 1000)", time.Hour)}}, want: []Code{codeNotSeparated}},
		"without a name":                     {w: world{log: []audit.Line{mail(time.Hour), start(task.Ask, "uid 1000", time.Hour)}}, want: []Code{codeNotSeparated}},
		"root":                               {w: world{log: []audit.Line{mail(time.Hour), start(task.Ask, "root (uid 0)", time.Hour)}}, want: []Code{codeNotSeparated}},
		"no account":                         {w: world{log: []audit.Line{mail(time.Hour), start(task.Ask, "", time.Hour)}}},
		"only the sender":                    {w: world{log: []audit.Line{mail(time.Hour), start(task.Ask, "agent (uid 1001)", time.Hour), start(task.Effect, "uid 1000", time.Hour)}}, want: []Code{codeNotSeparated}},
		"it was put right":                   {w: world{log: []audit.Line{mail(time.Hour), start(task.Ask, "uid 1001", time.Hour), start(task.Ask, "uid 1000", 2*time.Hour)}}},
		"an approver works": {w: world{log: []audit.Line{mail(time.Hour), start(task.Ask, "uid 1001", time.Hour)}},
			change: func(f *Facts) { f.Approver = func(uid uint32) bool { return uid == 1001 } }, want: []Code{codeNotSeparated}},
		"in both groups":      {change: func(f *Facts) { f.Both = []string{"agent"} }, want: []Code{codeNotSeparated}},
		"modes":               {change: func(f *Facts) { f.Modes = []string{"grants has mode 0770", "x"} }, want: []Code{Modes}},
		"the level is proven": {change: func(f *Facts) { f.Level = func(int64) error { return nil } }},
		"the level is not":    {change: func(f *Facts) { f.Level = func(int64) error { return errors.New("no group") } }, want: []Code{codeForgeable}},
		"not by these workers": {w: world{log: []audit.Line{mail(time.Hour), start(task.Effect, "uid 1001", time.Hour)}},
			change: func(f *Facts) {
				f.Level = func(worker int64) error { return map[int64]error{1001: errors.New("uid 1001")}[worker] }
			}, want: []Code{codeForgeable}},
		"long ago": {w: world{log: []audit.Line{mail(time.Hour), start(task.Ask, "uid 1000", 8*day)}}},
	} {
		f := facts()
		if c.change != nil {
			c.change(f)
		}
		if got := codes(t, &c.w, f); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}

// TestManyAreCounted: ten findings are named, and the rest are counted.
func TestManyAreCounted(t *testing.T) {
	w := &world{ended: map[task.State][]string{}}
	for n := range 25 {
		w.open = append(w.open, entry(n, task.Awaiting, 3*time.Hour), entry(100+n, task.Scheduled, 3*time.Hour))
		w.ended[task.Failed] = append(w.ended[task.Failed], id(200+n))
	}
	found, err := Look(shop{w}, facts())
	if err != nil {
		t.Fatal(err)
	}
	lines := map[Code][]string{}
	for _, f := range found {
		lines[f.Code] = append(lines[f.Code], f.Line())
	}
	for code, last := range map[Code]string{
		Waiting:     "waiting: and 15 more; pulse-queue list --state awaiting_review",
		codeFailed:  "failed: and 15 more; pulse-queue list --state failed",
		codeOverdue: "overdue: 25 tasks are due, the first one (" + id(100) + ") since 3h, and nobody starts them; pulse-queue run -- CMD",
	} {
		if l := lines[code]; l[len(l)-1] != last || len(l) != 11 && code != codeOverdue {
			t.Errorf("%d lines, the last %q", len(l), l[len(l)-1])
		}
	}
}

// TestEffectsAreStartedByTheirAction: the command in the finding starts the overdue task.
func TestEffectsAreStartedByTheirAction(t *testing.T) {
	e, other := entry(1, task.Scheduled, 3*time.Hour), entry(2, task.Scheduled, 3*time.Hour)
	e.Kind, e.Action, other.Kind, other.Action = task.Effect, terms.ExternalSend, task.Effect, terms.Destructive
	found, err := Look(shop{&world{open: []store.Entry{e, other}}}, facts())
	if err != nil || len(found) != 2 || found[0].Do != "pulse-queue run --effect external_send -- CMD" || found[1].Do != "pulse-queue run --effect destructive -- CMD" {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestLogIsReadOnlySoFar: the rest of a long log is not read once everything is known, nor a week
// that is too long.
func TestLogIsReadOnlySoFar(t *testing.T) {
	w := &world{log: []audit.Line{mail(time.Minute), start(task.Ask, "uid 1001", time.Hour), start(task.Effect, "uid 1001", time.Hour)}}
	for age, most := range map[time.Duration]int{8 * day: 4, 3 * time.Hour: maxLines} {
		past := *w
		for range maxLines + 1000 {
			past.log = append(past.log, line(task.Finished, age))
		}
		if got := codes(t, &past, facts()); got != nil || past.read > most {
			t.Errorf("%v, %d lines were read", got, past.read)
		}
	}
}

// TestFlood: of a day with many lines no more are read whole, and what only those before them say is
// found all the same.
func TestFlood(t *testing.T) {
	w := &world{log: []audit.Line{start(task.Ask, "uid 1001", time.Hour)}}
	for range 2 * maxLines {
		w.log = append(w.log, line(task.Finished, 3*time.Hour))
	}
	w.log = append(w.log, mail(30*time.Hour), start(task.Effect, "uid 0", 2*day), start(task.Effect, "uid 1001", 8*day))
	if got := codes(t, w, facts()); !slices.Equal(got, []Code{Silent, codeNotSeparated}) || w.read > maxLines+10 {
		t.Errorf("%v, %d lines were read", got, w.read)
	}
}

// TestFilesAreLookedForOnce: a task is looked for in other states only if it does not
// lie where it should.
func TestFilesAreLookedForOnce(t *testing.T) {
	w := &world{gone: []string{id(7)}}
	for n := range 100 {
		w.open = append(w.open, entry(n, task.Scheduled, time.Minute))
	}
	if got := codes(t, w, facts()); !slices.Equal(got, []Code{codeMissing}) || w.asked != 1 {
		t.Errorf("%v, %d were looked for", got, w.asked)
	}
}

func TestFaults(t *testing.T) {
	if _, err := Look(shop{&world{fault: errors.New("disk")}}, facts()); err == nil {
		t.Error("a queue that can't be read has no findings")
	}
}

// TestHostileFinding: hostile text in a finding can't break out of its line.
func TestHostileFinding(t *testing.T) {
	f := Finding{Code: codeChainBroken, Text: "audit/x\x1b[2J\nheld: no", Do: "x"}
	if l := f.Line(); strings.ContainsAny(l, "\x1b\n") {
		t.Errorf("%q", l)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(Codes)))) != len(Codes) {
		t.Error(Codes)
	}
}
