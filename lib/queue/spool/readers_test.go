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
	"pulse/lib/queue/disk"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

func every(*store.Entry) bool { return true }

// guarded is a lock that says so when it is taken.
type guarded struct {
	locker
	t     *testing.T
	taken int
}

func (g *guarded) take() (func(), error) { g.taken++; return g.locker.take() }
func (g *guarded) try() (func(), error)  { g.taken++; return g.locker.try() }

// TestReadersTakeNoLock: one that is stopped in the middle would keep all others out.
func TestReadersTakeNoLock(t *testing.T) {
	s := original(t)
	do(t, s, add(mails(1, 5)...), start(""), finish(queue.End{}))
	g := &guarded{locker: s.lock, t: t}
	s.lock = g
	for name, read := range map[string]func() error{
		"view":     func() error { return s.View(func(store.View) error { return nil }) },
		"list":     func() error { _, err := s.List(task.States, every); return err },
		"match":    func() error { _, err := s.Match("0000"); return err },
		"verify":   func() error { _, err := s.Verify(""); return err },
		"snapshot": func() error { return s.Snapshot(filepath.Join(filepath.Dir(s.dir), "copy")) },
	} {
		if err := read(); err != nil || g.taken > 0 {
			t.Errorf("%s: it was taken %d times (%v)", name, g.taken, err)
		}
		g.taken = 0
	}
}

// TestViewBeginsAnew: what was committed while fn ran makes it run again, and what it
// saw last is what there is.
func TestViewBeginsAnew(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 3)...))
	writer := opened(t, s.dir)
	runs, counted := 0, 0
	err := s.View(func(v store.View) error {
		if runs++; runs <= 2 {
			do(t, writer, add(mails(10*runs, 1)...))
		}
		counted = v.Counts().Tasks[task.Scheduled]
		return nil
	})
	if err != nil || runs != 3 || counted != 5 {
		t.Errorf("%d runs, %d tasks, %v", runs, counted, err)
	}
}

// TestViewTakesTheLockInTheEnd: where it can't get by without, it waits its turn.
func TestViewTakesTheLockInTheEnd(t *testing.T) {
	s := made(t)
	g := &guarded{locker: s.lock, t: t}
	s.lock = g
	writer := opened(t, s.dir)
	n := 0
	err := s.View(func(store.View) error {
		if n++; g.taken == 0 {
			do(t, writer, add(mails(n, 1)...))
		}
		return nil
	})
	if err != nil || g.taken != 1 {
		t.Errorf("%d runs, the lock was taken %d times: %v", n, g.taken, err)
	}
}

// TestViewOfAWriterAtWork: a reader waits for what is half done, and does not take it
// for something that a dead command left.
func TestViewOfAWriterAtWork(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 3)...))
	writer := opened(t, s.dir)
	unlock, err := writer.lock.take()
	if err != nil {
		t.Fatal(err)
	}
	b, err := writer.disk.Read(checkpointFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.disk.Remove(checkpointFile); err != nil { // as before it writes an index anew
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.View(func(store.View) error { return nil }) }()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := writer.disk.WriteAt(checkpointFile, 0, b); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil { // the lock is still taken
		t.Error(err)
	}
	unlock()
	whole(t, s)
}

// TestListCorrects: what moves while the directories are read is listed where it is in
// the end, once.
func TestListCorrects(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 6)...), start(""), finish(queue.End{}))
	writer := opened(t, s.dir)
	s.disk = &interrupted{Disk: s.disk, at: string(task.Completed), fn: func() {
		do(t, writer, start(""), finish(queue.End{}), start(""), add(mails(20, 2)...))
	}}
	s.log = begin(s.disk)
	lists, err := s.List([]task.State{task.Scheduled, task.Running, task.Completed, task.Failed}, every)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, l := range lists {
		got += fmt.Sprintf(" %s %d", l.State, len(l.IDs))
	}
	if want := " scheduled 5 running 1 completed 2 failed 0"; got != want {
		t.Errorf("%s, want%s", got, want)
	}
	ids := in(t, writer, task.Scheduled)
	for i, id := range lists[0].IDs {
		if id.String() != ids[i] {
			t.Errorf("scheduled %d is %s, want %s", i, id, ids[i])
		}
	}
}

// interrupted is a disk that calls fn when a directory has been read.
type interrupted struct {
	disk.Disk
	at string
	fn func()
}

func (d *interrupted) Names(dir string, fn func(string) error) error {
	err := d.Disk.Names(dir, fn)
	if run := d.fn; dir == d.at && run != nil {
		d.fn = nil
		run()
	}
	return err
}

// TestSnapshotOfAQueueThatMoves: what changes while it is copied is in the copy, whole.
func TestSnapshotOfAQueueThatMoves(t *testing.T) {
	for _, dir := range []string{string(task.Scheduled), metaDir, resultDir, prunedDir, string(task.Completed), auditDir} {
		s := original(t)
		do(t, s, add(mails(1, 6)...), start(""), finish(queue.End{}))
		writer := opened(t, s.dir)
		s.disk = &interrupted{Disk: s.disk, at: dir, fn: func() {
			do(t, writer, start(""), finish(queue.End{Result: []byte("result")}), start(""), add(mails(20, 2)...), prune)
		}}
		s.log = begin(s.disk)
		at := filepath.Join(filepath.Dir(s.dir), "copy")
		if err := s.Snapshot(at); err != nil {
			t.Fatal(err)
		}
		c := opened(t, at)
		whole(t, c)
		if got, want := len(in(t, c, task.Scheduled))+len(in(t, c, task.Running)), len(in(t, writer, task.Scheduled))+1; got != want {
			t.Errorf("%s: %d open tasks, want %d", dir, got, want)
		}
	}
}

// TestVerifyOfAQueueThatMoves: what moves while the files are read is no finding, and
// what was edited is one all the same.
func TestVerifyOfAQueueThatMoves(t *testing.T) {
	dirs := []string{prunedDir, metaDir, resultDir}
	for _, st := range task.States {
		dirs = append(dirs, string(st))
	}
	for _, edited := range []bool{false, true} {
		for _, dir := range dirs {
			s := made(t)
			done := queue.End{Result: []byte("result")}
			do(t, s, add(mails(1, 6)...), start(""), finish(done), prune, start(""), finish(done), start(""))
			victim := in(t, s, task.Scheduled)[2]
			writer := opened(t, s.dir)
			s.disk = &interrupted{Disk: s.disk, at: dir, fn: func() {
				if edited {
					write(t, filepath.Join(s.dir, taskFile(task.Scheduled, victim)), "{}\n")
				}
				do(t, writer, finish(done), prune, start(""), add(mails(20, 2)...), held)
			}}
			s.log = begin(s.disk)
			report, err := s.Verify("")
			if err != nil || !edited && len(report.Findings) > 0 {
				t.Errorf("%s: %v %q", dir, err, report.Findings)
			}
			again, err := writer.Verify("")
			if err != nil || (len(again.Findings) > 0) != edited || again.Head != report.Head {
				t.Errorf("%s: %v %q, then %q", dir, err, again.Findings, report.Findings)
			}
		}
	}
}

var held = update("hold", func(tx *queue.Tx, now time.Time) error {
	return tx.Log(audit.Line{Time: now, Event: audit.Held, By: "me"})
})

// TestSnapshotOfAForgedLine: a line that names no task leads out of no directory.
func TestSnapshotOfAForgedLine(t *testing.T) {
	for _, id := range []string{"../../victim", "x", ".."} {
		s := original(t)
		do(t, s, add(mails(1, 2)...))
		victim := filepath.Join(filepath.Dir(s.dir), "victim.json")
		write(t, victim, "mine\n")
		s.disk = &interrupted{Disk: s.disk, at: metaDir, fn: func() {
			forger := opened(t, s.dir)
			forger.log = begin(forger.disk)
			if err := forger.log.load(); err != nil {
				t.Fatal(err)
			}
			line := audit.Line{Time: epoch, Event: task.Started, Task: id, From: task.Scheduled, To: task.Running}
			if err := errors.Join(forger.log.Append([]audit.Line{line}, false), forger.log.checkpoint()); err != nil {
				t.Fatal(err)
			}
		}}
		s.log = begin(s.disk)
		if err := s.Snapshot(s.dir + "-copy"); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if b, err := os.ReadFile(victim); string(b) != "mine\n" {
			t.Errorf("%s: %q, %v", id, b, err)
		}
	}
}

// counted is a disk that counts the task files that are read one by one.
type counted struct {
	disk.Disk
	reads int
}

func (d *counted) Read(name string) ([]byte, error) {
	if strings.HasPrefix(name, string(task.Scheduled)+"/") {
		d.reads++
	}
	return d.Disk.Read(name)
}

// TestLookReadsTogether: tasks that Look was told of are read together, and each is what it is when
// it is read alone: where it lies elsewhere, is large, gone or no file, too.
func TestLookReadsTogether(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 8)...), start(""))
	ids := append(in(t, s, task.Scheduled), in(t, s, task.Running)...)
	file := func(i int) string { return filepath.Join(s.dir, taskFile(task.Scheduled, ids[i])) }
	err := errors.Join(os.WriteFile(file(1), make([]byte, mostAhead+1), 0o600), os.WriteFile(file(2), nil, 0o600),
		os.Remove(file(3)), os.Remove(file(4)), os.Mkdir(file(4), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	d := &counted{Disk: s.disk}
	s.disk = d
	var read [2][]string
	for i, look := range []bool{false, true} {
		d.reads = 0
		err := s.View(func(v store.View) error {
			if look {
				if err := v.Look(ids, true); err != nil {
					return err
				}
			}
			for range 2 { // what was read ahead is given once
				for _, id := range ids {
					item, err := v.Get(store.On(task.Scheduled), id)
					read[i] = append(read[i], fmt.Sprintf("%x, %v", item.Bytes, err))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := []int{16, 12}[i]; d.reads != want { // 4 of 8 are small files that are there
			t.Errorf("look %t: %d were read one by one, want %d", look, d.reads, want)
		}
	}
	if !slices.Equal(read[0], read[1]) {
		t.Errorf("%q, and read ahead %q", read[0], read[1])
	}
}
