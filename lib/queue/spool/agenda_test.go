package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/disk/disktest"
	"pulse/lib/queue/entry"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// FuzzStart: a line of the ledger of starts is known whole, or not at all.
func FuzzStart(f *testing.F) {
	l := audit.Line{Time: epoch, Event: task.Started, Task: "0123456789abcdef0123456789abcdef", Kind: task.Effect, Sender: "me@example.com"}
	f.Add(appendStart(nil, &l))
	l.Time, l.Kind, l.Sender = time.Time{}, task.Ask, ""
	f.Add(appendStart(nil, &l))
	f.Fuzz(func(t *testing.T, b []byte) {
		st, ok := parseStart(b)
		if ok && (len(b) != starts.Width || entry.Seconds(st.Time) != st.Time.Unix() || st.Kind != task.Ask && st.Kind != task.Effect) {
			t.Fatalf("%q is %+v", b, st)
		}
	})
}

// TestLongActionStarts: a task with an action of more letters than the agenda keeps is
// started; its file was not edited.
func TestLongActionStarts(t *testing.T) {
	was := terms.Actions
	t.Cleanup(func() { terms.Actions = was })
	const use, see terms.Action = "code_or_computer_use", "code_or_computer_see"
	terms.Actions = append(slices.Clone(was), use, see)
	p := policy.Default()
	p.Owners, p.DefaultAction = ours.Owners, use
	p.Matrix[terms.OwnerVerifiedEmail][use] = terms.Allow
	s := made(t)
	do(t, s, add(strings.Replace(mail(1, terms.Allow), `"read_public"`, `"`+string(use)+`"`, 1)))
	if list := agendaOf(t, s); len(list) != 1 || list[0].Action != use || list[0].Is(see) {
		t.Errorf("%+v", list)
	}
	do(t, s, update("start", func(tx *queue.Tx, now time.Time) error {
		run := queue.Run{Policy: p, Max: 1, Now: func() time.Time { return now }}
		claim, _, err := run.Next(tx, func(string) error { return nil })
		if claim == nil {
			t.Errorf("nothing starts: %v", err)
		}
		return err
	}))
	if running, corrupt := in(t, s, task.Running), in(t, s, task.Corrupt); len(running) != 1 || len(corrupt) > 0 {
		t.Errorf("%d run, %d are corrupt", len(running), len(corrupt))
	}
	whole(t, s)
}

// agendaOf lists what the agenda says.
func agendaOf(t *testing.T, s *Spool) (list []store.Entry) {
	t.Helper()
	err := s.View(func(v store.View) error {
		return v.Open("", func(e store.Entry) (bool, error) {
			list = append(list, e)
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAgendaIsMadeAnew: it is what the log says, however it was lost.
func TestAgendaIsMadeAnew(t *testing.T) {
	s := lived(t)
	do(t, s, add(mails(7000, 5)...), start(""))
	want := agendaOf(t, s)
	starts := startsOf(t, s)
	if len(want) < 5 || len(starts) == 0 {
		t.Fatalf("%d open, %d starts", len(want), len(starts))
	}
	for _, c := range []struct{ name, file string }{
		{"agenda removed", agendaFile}, {"starts removed", startsFile}, {"checkpoint removed", checkpointFile},
	} {
		if err := os.Remove(filepath.Join(s.dir, c.file)); err != nil {
			t.Fatal(err)
		}
		if got := agendaOf(t, opened(t, s.dir)); !slices.Equal(got, want) {
			t.Errorf("%s:\n%+v\nwant\n%+v", c.name, got, want)
		}
		if got := startsOf(t, s); !slices.Equal(got, starts) {
			t.Errorf("%s: starts\n%+v\nwant\n%+v", c.name, got, starts)
		}
		whole(t, s)
	}
	if err := os.Truncate(filepath.Join(s.dir, agendaFile), 200); err != nil {
		t.Fatal(err)
	}
	if got := agendaOf(t, s); !slices.Equal(got, want) {
		t.Errorf("cut:\n%+v\nwant\n%+v", got, want)
	}
}

func startsOf(t *testing.T, s *Spool) (list []store.Start) {
	t.Helper()
	err := s.View(func(v store.View) error {
		return v.Starts(epoch, func(st store.Start) { list = append(list, st) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAgendaIsCompacted: what is closed does not slow down what is open, and the
// order stays.
func TestAgendaIsCompacted(t *testing.T) {
	s := made(t)
	const rounds = 5
	for i := range rounds {
		do(t, s, add(mails(10_000*i+1, 400)...))
		drop(t, s, 395)
	}
	info, err := os.Stat(filepath.Join(s.dir, agendaFile))
	if err != nil {
		t.Fatal(err)
	}
	open := agendaOf(t, s)
	if len(open) != rounds*5 {
		t.Fatalf("%d are open", len(open))
	}
	if most := int64(slack+len(open)+400) * int64(agenda.Width); info.Size() > most {
		t.Errorf("the agenda has %d bytes, want at most %d", info.Size(), most)
	}
	if !slices.IsSortedFunc(open, func(a, b store.Entry) int { return a.Since.Compare(b.Since) }) {
		t.Error("out of order")
	}
	whole(t, s)
}

// TestListOfALongAgenda: no number of tasks makes the agenda too large to be read.
func TestListOfALongAgenda(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 2)...))
	if err := os.Truncate(filepath.Join(s.dir, agendaFile), 50_000*int64(agenda.Width)); err != nil {
		t.Fatal(err)
	}
	lists, err := s.List([]task.State{task.Scheduled}, every)
	if err != nil || len(lists[0].IDs) != 2 {
		t.Fatalf("%v, %v", lists, err)
	}
	if ids, err := s.Match(lists[0].IDs[0].String()[:8]); err != nil || len(ids) != 1 {
		t.Errorf("%v, %v", ids, err)
	}
}

// drop rejects the first n tasks that are scheduled.
func drop(t *testing.T, s *Spool, n int) {
	t.Helper()
	do(t, s, update("drop", func(tx *queue.Tx, now time.Time) error {
		return tx.Open("", func(e store.Entry) (bool, error) {
			n--
			return n > 0, tx.Move(audit.Line{Time: now, Event: task.Cancelled, Task: e.ID, From: e.State, To: task.Rejected})
		})
	}))
}

// TestStartsAreTrimmed: what is too old to count goes, and a clock that goes back
// delays no task for longer than a day.
func TestStartsAreTrimmed(t *testing.T) {
	d := disktest.New()
	s := spoolOn(d)
	started := func(n int, at time.Time) {
		t.Helper()
		var log []audit.Line
		for range n {
			log = append(log, audit.Line{Time: at, Event: task.Started, Task: "0123456789abcdef0123456789abcdef", Kind: task.Ask})
		}
		if err := s.indexStarts(log); err != nil {
			t.Fatal(err)
		}
	}
	started(startsKept/starts.Width, epoch)
	started(1, epoch.Add(store.Window))
	started(1, epoch.Add(store.Window+time.Second))
	if want := int64(2 * starts.Width); s.log.starts != want {
		t.Errorf("%d bytes are left, want %d", s.log.starts, want)
	}
}

// TestStartsInTheFuture: after the clock was ahead, what was started then counts for
// a day, and not until the clock has caught up.
func TestStartsInTheFuture(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 100)...))
	started := func(at time.Time) (n int) {
		t.Helper()
		for run := (queue.Run{Policy: ours, Max: 100, Now: func() time.Time { return at }}); ; n++ {
			var claim *queue.Claim
			err := queue.Update(s, func(tx *queue.Tx) (err error) {
				claim, _, err = run.Next(tx, func(string) error { return nil })
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if claim == nil {
				return n
			}
		}
	}
	share := ours.Limits.PerSenderPerHour
	ahead, now := epoch.AddDate(1, 0, 0), epoch.Add(time.Hour)
	for _, c := range []struct {
		at   time.Time
		want int
	}{{ahead, share}, {now, 0}, {now.Add(59 * time.Minute), 0}, {now.Add(time.Hour), share}} {
		if got := started(c.at); got != c.want {
			t.Errorf("%s: %d starts, want %d", c.at, got, c.want)
		}
	}
	whole(t, opened(t, s.dir))
}

// TestRedoKeepsResults: a result that a later line tells of outlives the line before
// that had none, however many lines lie in between.
func TestRedoKeepsResults(t *testing.T) {
	defer func(n int) { redone = n }(redone)
	redone = 3
	s := made(t)
	do(t, s, add(mails(1, 1)...))
	old, err := os.ReadFile(filepath.Join(s.dir, checkpointFile))
	if err != nil {
		t.Fatal(err)
	}
	do(t, s, start(""), finish(queue.End{Exit: 1}), add(mails(2, 8)...), start(""), finish(queue.End{Exit: 0, Result: []byte("precious\n")}))
	want := says(t, s)
	write(t, filepath.Join(s.dir, checkpointFile), string(old))
	if got := says(t, opened(t, s.dir)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	whole(t, s)
}

// TestWidths: a line that is written in place lies in one sector, so that a power cut
// leaves it or its predecessor.
func TestWidths(t *testing.T) {
	l := audit.Line{Time: epoch, Event: task.Started, Task: "0123456789abcdef0123456789abcdef", To: task.Scheduled}
	e := store.EntryOf(&l)
	for name, c := range map[string]struct {
		width int
		line  []byte
	}{
		agendaFile: {agenda.Width, entry.Append(nil, &e)}, startsFile: {starts.Width, appendStart(nil, &l)},
		prunedDir: {shardOf("").Width, appendPruned(nil, l.Task, task.Awaiting)}, checkpointFile: {checkpointSize, new(progress).bytes()},
	} {
		if disktest.Sector%c.width != 0 || len(c.line) != c.width {
			t.Errorf("%s: a line of %d bytes, and the width is %d", name, len(c.line), c.width)
		}
	}
}

// TestStartsOutOfTime: a clock beyond 2286 or before 1938 leaves lines of their width,
// and the starts count.
func TestStartsOutOfTime(t *testing.T) {
	for _, year := range []int{1, 1937, 1969, 2286, 2287, 9999} {
		s := made(t)
		do(t, s, add(mails(1, 4)...))
		at := time.Date(year, 12, 31, 23, 59, 59, 0, time.UTC)
		if err := start("").Do(s, at); err != nil {
			t.Fatal(err)
		}
		if got := startsOf(t, s); len(got) != 1 {
			t.Errorf("%d: %v", year, got)
		}
		once := *ours
		once.Limits.MaxPerDay = 1
		for _, now := range []time.Time{at, at.Add(time.Hour)} {
			run := queue.Run{Policy: &once, Max: 1, Now: func() time.Time { return now }}
			err := queue.Update(s, func(tx *queue.Tx) error {
				claim, _, err := run.Next(tx, func(string) error { return nil })
				if claim != nil {
					t.Errorf("%s: a second start", now)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		// The clock is right again.
		if err := errors.Join(start("").Do(s, epoch), start("").Do(s, epoch.Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
		want := 3
		if at.After(epoch) {
			want = 2 // what lies ahead is counted from the log
		}
		if got := startsOf(t, s); len(got) != want {
			t.Errorf("%d: %v", year, got)
		}
		whole(t, opened(t, s.dir))
	}
}

// TestStartsThatCannotBeRead count as full: nothing starts until they are made anew.
func TestStartsThatCannotBeRead(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 4)...), start(""))
	name := filepath.Join(s.dir, startsFile)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		spoilt := bytes.Clone(b)
		spoilt[i] ^= 0x80
		write(t, name, string(spoilt))
		if err := start("").Do(s, epoch); fault.KindOf(err) != fault.Failed || !strings.Contains(fault.HintOf(err), "rm "+name) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	if got := in(t, s, task.Running); len(got) != 1 {
		t.Errorf("%d were started", len(got))
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	do(t, s, start(""))
	if got := in(t, s, task.Running); len(got) != 2 {
		t.Errorf("%d were started", len(got))
	}
	whole(t, s)
}

// older gives a queue the layout that it had before checkpoints named one: lines of 44
// bytes in pruned, and of 65 in starts.
func older(t *testing.T, s *Spool) {
	t.Helper()
	list, _ := filepath.Glob(filepath.Join(s.dir, prunedDir, "*"))
	for _, name := range append(list, filepath.Join(s.dir, startsFile)) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var was string
		for line := range strings.Lines(string(b)) {
			if filepath.Base(name) == startsFile {
				was += line[:12] + " " + line[12:]
			} else {
				was += line[:43] + "\n"
			}
		}
		write(t, name, was)
	}
	b, err := os.ReadFile(filepath.Join(s.dir, checkpointFile))
	if err != nil {
		t.Fatal(err)
	}
	was := strings.Replace(string(b), fmt.Sprintf(`"layout":%d,`, layout), "", 1)
	starts := regexp.MustCompile(`"starts":\d+`)
	was = starts.ReplaceAllStringFunc(was, func(m string) string {
		var n int
		fmt.Sscanf(m, `"starts":%d`, &n)
		return fmt.Sprintf(`"starts":%d`, n/64*65)
	})
	write(t, filepath.Join(s.dir, checkpointFile), was+"           ")
}

// TestOlderLayout: a queue of an older pulse is brought up to date, also one whose shard
// a power cut tore at the end of a sector: that is one that no command of it opened.
func TestOlderLayout(t *testing.T) {
	for _, torn := range []bool{false, true} {
		s := made(t)
		list := alike(12)
		do(t, s, add(mails(1, 1)...), start(""), add(list[:11]...), cancelAll, prune, add(list[11]), cancelAll)
		checkpoint, err := os.ReadFile(filepath.Join(s.dir, checkpointFile))
		if err != nil {
			t.Fatal(err)
		}
		do(t, s, prune)
		want := says(t, s)
		if torn {
			write(t, filepath.Join(s.dir, checkpointFile), string(checkpoint))
		}
		older(t, s)
		if torn {
			shards, _ := filepath.Glob(filepath.Join(s.dir, prunedDir, "*"))
			b, err := os.ReadFile(shards[0])
			if err != nil || len(shards) != 1 || len(b) != 12*44 {
				t.Fatal(shards, len(b), err)
			}
			write(t, shards[0], string(b[:disktest.Sector])+strings.Repeat("\x00", len(b)-disktest.Sector))
		}
		s = opened(t, s.dir)
		do(t, s, brake(audit.Released))
		got := strings.Replace(says(t, s), " released:1", "", 1)
		if got != want {
			t.Errorf("torn %v:\n%s\nwant\n%s", torn, got, want)
		}
		whole(t, s)
	}
}

// TestDamagedPruned: ids that can't be read are not taken for ids that were never
// there, but made anew from the log.
func TestDamagedPruned(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 1)...), start(""), finish(queue.End{Exit: 0}), prune)
	list, _ := filepath.Glob(filepath.Join(s.dir, prunedDir, "*"))
	b, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	write(t, list[0], "x"+string(b[1:]))
	do(t, s, add(mails(1, 1)...))
	if got := in(t, s, task.Scheduled); len(got) > 0 {
		t.Errorf("it was taken again: %v", got)
	}
	whole(t, s)
}
