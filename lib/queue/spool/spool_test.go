package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/disk/disktest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// made returns a new queue on the real disk.
func made(t *testing.T) *Spool {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "q")
	if err := Create(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	return opened(t, dir)
}

func opened(t *testing.T, dir string) *Spool {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func do(t *testing.T, s *Spool, ops ...operation) {
	t.Helper()
	for _, op := range ops {
		if err := op.Do(s, epoch); err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
	}
}

// in returns the ids of the tasks in a state, in the order of Scan.
func in(t *testing.T, s *Spool, st task.State) (ids []string) {
	t.Helper()
	err := s.View(func(v store.View) error {
		return v.Each(store.On(st), func(id string, _ time.Time) (bool, error) {
			ids = append(ids, id)
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func says(t *testing.T, s *Spool) string {
	t.Helper()
	text, err := dump(s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func whole(t *testing.T, s *Spool) {
	t.Helper()
	report, err := s.Verify("")
	if err != nil || len(report.Findings) > 0 {
		t.Errorf("verify: %v %q", err, report.Findings)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCreateIsPrivate(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 1)...), start(""), grant("a1"), brake(audit.Held))
	files := 0
	err := filepath.Walk(s.dir, func(path string, info os.FileInfo, err error) error {
		want := os.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		}
		if files++; info.Mode().Perm() != want {
			t.Errorf("%s has mode %04o, want %04o", path, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil || files < 20 {
		t.Error(files, err)
	}
}

func TestCreate(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(dir string) error
		want    string // of the error; empty: none
	}{
		{"fresh", func(string) error { return nil }, ""},
		{"empty directory", func(d string) error { return os.Mkdir(d, 0o700) }, ""},
		{"again", func(d string) error { return Create(d, Options{}) }, ""},
		{"interrupted", func(d string) error {
			return errors.Join(os.MkdirAll(d+"/tmp", 0o700), os.WriteFile(d+"/tmp/format", []byte("pulse-q"), 0o600),
				os.Mkdir(d+"/scheduled", 0o700), os.WriteFile(d+"/lock", nil, 0o600))
		}, ""},
		{"no parent", func(d string) error { return os.Remove(filepath.Dir(d)) }, "can't make the queue"},
		{"somebody's files", func(d string) error {
			return errors.Join(os.Mkdir(d, 0o700), os.WriteFile(d+"/thesis.tex", nil, 0o600))
		}, "not empty: it holds thesis.tex"},
		{"a file", func(d string) error { return os.WriteFile(d, nil, 0o600) }, "not a directory"},
		{"others may write", func(d string) error { return errors.Join(os.Mkdir(d, 0o700), os.Chmod(d, 0o777)) }, "others may write it"},
		{"sticky", func(d string) error { return errors.Join(os.Mkdir(d, 0o700), os.Chmod(d, 0o777|os.ModeSticky)) }, "others may write it"},
	} {
		dir := filepath.Join(t.TempDir(), "parent", "q")
		if err := errors.Join(os.Mkdir(filepath.Dir(dir), 0o700), c.prepare(dir)); err != nil {
			t.Fatal(err)
		}
		err := Create(dir, Options{})
		if err == nil {
			do(t, opened(t, dir), add(mails(1, 1)...))
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err != nil && fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v is of class %d", c.name, err, fault.KindOf(err))
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(dir string) error
		want   string
	}{
		{"gone", os.RemoveAll, "there is no queue"},
		{"no format", func(d string) error { return os.Remove(d + "/format") }, "it has no file format"},
		{"a later format", func(d string) error { return os.WriteFile(d+"/format", []byte("pulse-queue 2\n"), 0) }, "the queue's format is pulse-queue 2"},
		{"group may write", func(d string) error { return os.Chmod(d, 0o770) }, "others may write it"},
		{"all may write", func(d string) error { return os.Chmod(d, 0o702) }, "others may write it"},
		{"sticky", func(d string) error { return os.Chmod(d, 0o777|os.ModeSticky) }, "others may write it"},
	} {
		s := made(t)
		if err := c.change(s.dir); err != nil {
			t.Fatal(err)
		}
		again, err := Open(s.dir)
		if err == nil {
			again.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, _, _, read := ReadPosition(s.dir, "imaps://me@t/INBOX"); read == nil || c.name == "a later format" && read.Error() != err.Error() {
			t.Errorf("%s: a position: %v", c.name, read)
		}
	}
}

func TestUpdateIsAllOrNothing(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 2)...))
	before := says(t, s)
	failed := errors.New("fn failed")
	err := queue.Update(s, func(tx *queue.Tx) error {
		id := in(t, opened2(t, s), task.Scheduled)[0]
		err := tx.Move(audit.Line{Time: epoch, Event: task.Started, Task: id, From: task.Scheduled, To: task.Running})
		if err != nil {
			t.Error(err)
		}
		if st, err := tx.Where(id); st != task.Running || err != nil {
			t.Errorf("a staged move shows %s, %v", st, err)
		}
		tx.Stage(store.Results, id, []byte("x"))
		return failed
	})
	if !errors.Is(err, failed) || says(t, s) != before {
		t.Errorf("%v, and then:\n%s", err, says(t, s))
	}
	if left, _ := os.ReadDir(s.dir + "/tmp"); len(left) > 0 {
		t.Errorf("tmp holds %v", left)
	}
	whole(t, s)
}

// opened2 is the same queue for a reader inside an Update: it takes no lock.
func opened2(t *testing.T, s *Spool) *Spool {
	c := *s
	c.lock = unlocked{}
	return &c
}

func TestCompareAndSwap(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 1)...))
	id := in(t, s, task.Scheduled)[0]
	move := func(e task.Event, from, to task.State) error {
		return queue.Update(s, func(tx *queue.Tx) error {
			return tx.Move(audit.Line{Time: epoch, Event: e, Task: id, From: from, To: to})
		})
	}
	if err := move(task.Finished, task.Running, task.Completed); !errors.Is(err, store.ErrConflict) {
		t.Errorf("from a state it is not in: %v", err)
	}
	if err := move(task.Finished, task.Scheduled, task.Completed); !errors.Is(err, task.ErrIllegal) {
		t.Errorf("by an event that does not lead there: %v", err)
	}
	if err := move(task.Started, task.Scheduled, task.Running); err != nil {
		t.Error(err)
	}
	if err := move(task.Started, task.Scheduled, task.Running); !errors.Is(err, store.ErrConflict) {
		t.Errorf("twice: %v", err)
	}
	err := queue.Update(s, func(tx *queue.Tx) error {
		return tx.Add([]byte("{}\n"), audit.Line{Time: epoch, Event: task.Added, Task: id, To: task.Scheduled})
	})
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("added again while it runs: %v", err)
	}
	err = queue.Update(s, func(tx *queue.Tx) error {
		return tx.Log(audit.Line{Time: epoch, Event: task.Started, Task: id, From: task.Running, To: task.Completed})
	})
	if err == nil {
		t.Error("Log moved a task")
	}
	if got := in(t, s, task.Running); len(got) != 1 {
		t.Error(got)
	}
	whole(t, s)
}

func TestScanIsOldestFirst(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 40)...))
	later := add(mails(41, 3)...)
	if err := later.Do(s, epoch.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	var want []string
	for uid := 1; uid <= 43; uid++ {
		want = append(want, task.MailID(true, "me@example.com", fmt.Sprintf("<%d@t>", uid)))
	}
	if got := in(t, s, task.Scheduled); !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// moving lets others start and reap the tasks of a queue until the caller stops them.
func moving(t *testing.T, s *Spool, others int) (stopped func()) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan error)
	for range others {
		mover := opened(t, s.dir)
		go func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				op := start("")
				if i%2 == 1 {
					op = reap
				}
				if err := op.Do(mover, epoch.Add(time.Duration(i)*time.Minute)); err != nil {
					done <- err
					return
				}
			}
		}()
	}
	return func() {
		close(stop)
		for range others {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
}

// TestViewIsConsistent lists the queue while others move its tasks around: no
// task may be missed or seen twice.
func TestViewIsConsistent(t *testing.T) {
	const tasks = 20
	s := made(t)
	do(t, s, add(mails(1, tasks)...))
	stopped := moving(t, s, 3)
	for range 300 {
		var seen map[string]int
		err := s.View(func(v store.View) error {
			seen = map[string]int{}
			for _, st := range task.States {
				err := v.Each(store.On(st), func(id string, _ time.Time) (bool, error) {
					seen[id]++
					_, err := queue.Load(v, st, id)
					return true, err
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(seen) != tasks {
			t.Fatalf("%d of %d tasks: %v", len(seen), tasks, err)
		}
		for id, n := range seen {
			if n != 1 {
				t.Fatalf("%s was seen %d times", id, n)
			}
		}
		lists, err := s.List(task.States, every)
		listed := map[store.ID]bool{}
		for _, l := range lists {
			for _, id := range l.IDs {
				if listed[id] {
					t.Fatalf("%s is listed twice", id)
				}
				listed[id] = true
			}
		}
		if err != nil || len(listed) != tasks {
			t.Fatalf("%d of %d tasks are listed: %v", len(listed), tasks, err)
		}
	}
	stopped()
	whole(t, s)
}

func TestConcurrentAddsTakeEachRecordOnce(t *testing.T) {
	s := made(t)
	done := make(chan error)
	for range 8 {
		adder := opened(t, s.dir)
		go func() { done <- add(mails(1, 10)...).Do(adder, epoch) }()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := in(t, s, task.Scheduled); len(got) != 10 {
		t.Errorf("%d tasks", len(got))
	}
	whole(t, s)
}

func TestOneCorruptFileStopsNobody(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 8)...), start(""), reap)
	if err := add(effect(1)).Do(s, epoch.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	do(t, s, approve, grant("a1"), grant("a2"))
	ids := in(t, s, task.Scheduled)
	for i, spoil := range []func(name string) error{
		func(n string) error { return os.WriteFile(n, nil, 0o600) },
		func(n string) error { return os.WriteFile(n, []byte("{\"task\":{}}\n"), 0o600) },
		func(n string) error { return errors.Join(os.Remove(n), os.Mkdir(n, 0o700)) },
		func(n string) error { return errors.Join(os.Remove(n), os.Symlink("/etc/passwd", n)) },
		func(n string) error { return os.WriteFile(n, []byte(strings.Repeat("[", 1<<20)), 0o600) },
	} {
		if err := spoil(s.dir + "/scheduled/" + ids[i+1] + ".json"); err != nil {
			t.Fatal(err)
		}
	}
	write(t, s.dir+"/meta/"+ids[0]+".json", "\x00\x00\x00")
	write(t, s.dir+"/approvals/"+ids[8]+".json", `{"task":"another"}`)
	write(t, s.dir+"/grants/a1.json", "not a grant")
	write(t, s.dir+"/scheduled/README", "not a task")

	for range 3 {
		do(t, s, start(""), start(terms.ExternalSend))
	}
	if got := in(t, s, task.Corrupt); len(got) != 6 {
		t.Errorf("corrupt: %v", got)
	}
	if got := in(t, s, task.Running); !slices.Equal(got, ids[6:8]) {
		t.Errorf("running: %v", got)
	}
	if got := in(t, s, task.Awaiting); !slices.Equal(got, ids[8:]) {
		t.Errorf("an effect whose approval can't be read: %v", got)
	}
	s.View(func(v store.View) error {
		grants, err := queue.GrantsOf(v)
		if err != nil || len(grants) != 1 || grants[0].ID != "a2" {
			t.Errorf("%v, %v", grants, err)
		}
		return nil
	})
	report, err := s.Verify("")
	if err != nil || len(report.Findings) < 6 {
		t.Errorf("verify: %q, %v", report.Findings, err)
	}
}

func TestVerifyFindsWhatHandsDid(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(dir, id string) error
		want   string
	}{
		{"nothing", func(dir, id string) error { return nil }, ""},
		{"moved", func(dir, id string) error {
			return os.Rename(dir+"/scheduled/"+id+".json", dir+"/completed/"+id+".json")
		}, "the log has it in scheduled"},
		{"removed", func(dir, id string) error { return os.Remove(dir + "/scheduled/" + id + ".json") }, "it is gone"},
		{"copied", func(dir, id string) error {
			return os.Link(dir+"/scheduled/"+id+".json", dir+"/failed/"+id+".json")
		}, "failed/"},
		{"forged", func(dir, id string) error {
			return os.WriteFile(dir+"/scheduled/"+strings.Repeat("0", 32)+".json", []byte("{}"), 0o600)
		}, "the log knows nothing of it"},
		{"edited", func(dir, id string) error {
			name := dir + "/scheduled/" + id + ".json"
			b, err := os.ReadFile(name)
			return errors.Join(err, os.WriteFile(name, []byte(strings.Replace(string(b), "read_public", "destructive", 1)), 0o600))
		}, "it was edited"},
		{"its attempts changed", func(dir, id string) error {
			return os.WriteFile(dir+"/meta/"+id+".json", []byte(`{"attempts":0}`+"\n"), 0o600)
		}, "meta/"},
		{"a result made up", func(dir, id string) error { return os.WriteFile(dir+"/results/"+id, []byte("42\n"), 0o600) }, "results/"},
		{"a pruned id made up", func(dir, id string) error {
			return os.WriteFile(dir+"/pruned/"+id[:3], fmt.Appendf(nil, "%s %-10s\n", id, task.Completed), 0o600)
		}, "pruned/"},
		{"a line changed", func(dir, id string) error { return edit(dir, "me@example.com", "it@example.com") }, "the chain is broken"},
		{"a line removed", func(dir, id string) error { return edit(dir, "{", "") }, "not a whole line"},
		{"the log removed", func(dir, id string) error { return os.Remove(segment(dir)) }, "the log knows nothing of it"},
	} {
		s := made(t)
		do(t, s, add(mails(1, 2)...), add(mails(3, 1)...))
		id := in(t, s, task.Scheduled)[0]
		if err := c.change(s.dir, id); err != nil {
			t.Fatal(err)
		}
		report, err := s.Verify("")
		found := strings.Join(report.Findings, "\n")
		if err != nil || (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
			t.Errorf("%s: %q, %v", c.name, found, err)
		}
	}
}

// segment is the only segment of the log.
func segment(dir string) string {
	list, _ := filepath.Glob(dir + "/audit/*.jsonl")
	return list[0]
}

func edit(dir, from, to string) error {
	b, err := os.ReadFile(segment(dir))
	return errors.Join(err, os.WriteFile(segment(dir), []byte(strings.Replace(string(b), from, to, 1)), 0o600))
}

// TestTwoNames: an older pulse left a task under two names, links of one file, where a
// rename reached the disk by halves. The log says which one is meant.
func TestTwoNames(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 2)...), start(""))
	running, waits := in(t, s, task.Running)[0], in(t, s, task.Scheduled)[0]
	err := errors.Join(os.Link(s.dir+"/running/"+running+".json", s.dir+"/scheduled/"+running+".json"),
		os.Link(s.dir+"/scheduled/"+waits+".json", s.dir+"/awaiting_review/"+waits+".json"))
	if err != nil {
		t.Fatal(err)
	}
	do(t, s, finish(queue.End{Exit: 0}), start(""))
	if got := in(t, s, task.Completed); !slices.Equal(got, []string{running}) {
		t.Errorf("completed: %v", got)
	}
	if got := in(t, s, task.Running); !slices.Equal(got, []string{waits}) {
		t.Errorf("running: %v", got)
	}
	whole(t, s)
}

func TestVerifyKnowsEarlierHeads(t *testing.T) {
	s := made(t)
	var heads []string
	for uid := range 4 {
		report, err := s.Verify("")
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, report.Head)
		do(t, s, add(mails(uid+1, 1)...))
	}
	knows := func(h string) bool {
		report, err := s.Verify(h)
		if err != nil {
			t.Fatal(err)
		}
		return report.Knows
	}
	for _, h := range heads {
		if !knows(h) || !knows(audit.Bare(h)) {
			t.Errorf("it does not know %s", h)
		}
	}
	if knows(audit.Hash([]byte("another"))) {
		t.Error("it knows a head that never was")
	}
}

func TestPositionNeverGoesBack(t *testing.T) {
	s := made(t)
	const source = "imaps://me@t/INBOX"
	for _, c := range []struct{ uid, want int }{{5, 5}, {3, 5}, {9, 9}, {9, 9}} {
		do(t, s, add(mails(c.uid, 1)...))
		p, ok, _, err := ReadPosition(s.dir, source)
		if err != nil || !ok || int(p.UID) != c.want || p.UIDValidity != 7 {
			t.Errorf("after %d: %+v, %v", c.uid, p, err)
		}
	}
	do(t, s, add(strings.Replace(mail(2, terms.Allow), `"uidvalidity":7`, `"uidvalidity":8`, 1)))
	if p, _, _, _ := ReadPosition(s.dir, source); p.UID != 2 || p.UIDValidity != 8 {
		t.Errorf("with another uidvalidity: %+v", p)
	}
	if _, ok, _, err := ReadPosition(s.dir, "imaps://me@t/Other"); ok || err != nil {
		t.Errorf("of another mailbox: %v, %v", ok, err)
	}
}

// TestRefusalsAreBounded: a flood of strangers costs no file and few lines.
func TestRefusalsAreBounded(t *testing.T) {
	s := made(t)
	for batch := range 3 {
		var lines []string
		for uid := range 490 {
			lines = append(lines, mail(1+batch*490+uid, terms.Reject))
		}
		do(t, s, add(lines...))
	}
	var refused, limited int
	s.View(func(v store.View) error {
		if c := v.Counts(); c.Day != "2026-11-21" || c.Refused != 3*490 {
			t.Errorf("%d refused on %s", c.Refused, c.Day)
		}
		return v.Back(func(l audit.Line) bool {
			switch l.Event {
			case task.Refused:
				refused++
			case audit.Limited:
				limited++
			}
			return true
		})
	})
	if refused != queue.MaxRefusals || limited != 1 {
		t.Errorf("%d lines, and %d of them say that the rest is only counted", refused, limited)
	}
	for _, st := range task.States {
		if got := in(t, s, st); len(got) > 0 {
			t.Errorf("%s: %v", st, got)
		}
	}
	whole(t, s)
}

// TestSyncsPerCommit: what a commit costs does not depend on its size.
func TestSyncsPerCommit(t *testing.T) {
	for _, c := range []struct {
		op          operation
		most, waits int // those at the same time are waited for once
	}{
		{add(mails(1, 1)...), 8, 3}, // and the first line of a month
		{add(mails(2, 1)...), 6, 3},
		{add(mails(100, 500)...), 8, 3},
		{start(""), 8, 3},
		{finish(queue.End{Exit: 0, Result: []byte("x")}), 9, 4},
		{grant("a1"), 4, 2},
	} {
		d := disktest.New()
		s := spoolOn(d)
		do(t, s, add(mails(1000, 1)...), start(""), finish(queue.End{}), add(mails(1001, 2)...), start(""))
		d.Syncs, d.Waits = 0, 0
		do(t, s, c.op)
		t.Logf("%s: %d syncs, %d waits", c.op.Name, d.Syncs, d.Waits)
		if d.Syncs > c.most || d.Waits > c.waits {
			t.Errorf("%s: %d syncs in %d waits, want at most %d in %d", c.op.Name, d.Syncs, d.Waits, c.most, c.waits)
		}
	}
}

// TestResultIsOfTheLastAttempt: what an attempt printed is not shown as the
// result of the next one that printed nothing.
func TestResultIsOfTheLastAttempt(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 1)...), start(""), finish(queue.End{Exit: 1, Result: []byte("half")}))
	id := in(t, s, task.Scheduled)[0]
	later := epoch.Add(time.Hour)
	for _, op := range []operation{start(""), finish(queue.End{Exit: 0})} {
		if err := op.Do(s, later); err != nil {
			t.Fatal(err)
		}
	}
	s.View(func(v store.View) error {
		if st, err := v.Where(id); st != task.Completed || err != nil {
			t.Error(st, err)
		}
		if b, err := queue.ResultOf(v, id); len(b) > 0 || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		return nil
	})
}

func TestGrantIsSpentOnce(t *testing.T) {
	s := made(t)
	do(t, s, grant("a1"))
	won := make(chan error)
	for range 20 {
		consumer := opened(t, s.dir)
		go func() {
			won <- queue.Update(consumer, func(tx *queue.Tx) error {
				_, err := queue.Consume(tx, &consent.Proving{Require: "terminal"}, "bob@partner.example", "", epoch)
				return err
			})
		}()
	}
	spent := 0
	for range 20 {
		switch err := <-won; {
		case err == nil:
			spent++
		case !errors.Is(err, queue.ErrNoGrant):
			t.Error(err)
		}
	}
	if spent != 1 {
		t.Errorf("it was spent %d times", spent)
	}
}

func TestStateOfNoID(t *testing.T) {
	s := made(t)
	for _, id := range []string{"", "../meta/x", "..", strings.Repeat("A", 32), "a\x00b"} {
		s.View(func(v store.View) error {
			if st, err := v.Where(id); st != "" || err != nil {
				t.Errorf("%q: %s, %v", id, st, err)
			}
			return nil
		})
	}
}

var _ store.Store = (*Spool)(nil)
