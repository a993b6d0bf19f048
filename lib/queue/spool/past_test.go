package spool_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/spool"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// weeks is a simulation: each week a backup is made, and later the queue is put back from it.
type weeks struct {
	*testing.T
	r     *rand.Rand
	dir   string
	s     *spool.Spool
	now   time.Time
	lines []string // all that came: it is fetched again after each restore

	done, refused map[string]bool // what happened, which no restore undoes
	begun         map[string]bool // started since the backup, and nobody has said yes since
	yes           map[string]bool // a person said yes to it after a restore
	twice, asked  int
}

func newWeeks(t *testing.T, seed uint64) *weeks {
	w := &weeks{
		T: t, r: rand.New(rand.NewPCG(seed, 27)), dir: filepath.Join(t.TempDir(), "q"), now: queuetest.Epoch,
		done: map[string]bool{}, refused: map[string]bool{}, begun: map[string]bool{}, yes: map[string]bool{},
	}
	w.must(spool.Create(w.dir, spool.Options{}))
	w.open()
	return w
}

func (w *weeks) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *weeks) open() {
	var err error
	w.s, err = spool.Open(w.dir)
	w.must(err)
	w.s.OnCommit(w.hear)
}

// hear keeps what happened, and finds what happens twice.
func (w *weeks) hear(l *audit.Line) {
	switch l.Event {
	case task.Started:
		if w.done[l.Task] || w.refused[l.Task] || w.begun[l.Task] {
			w.twice++
		}
		w.begun[l.Task] = true
	case task.Retried, task.Restored:
		delete(w.begun, l.Task) // in this queue it may start again
	case task.Finished:
		w.done[l.Task] = true
	case task.Denied, task.Cancelled:
		w.refused[l.Task] = true
	case task.Approved:
		delete(w.begun, l.Task)
	}
}

func (w *weeks) do(op queuetest.Operation) {
	w.Helper()
	w.now = w.now.Add(31 * time.Hour)
	if err := op.Do(w.s, w.now); err != nil {
		w.Fatalf("%s: %v", op.Name, err)
	}
}

// live does something at random.
func (w *weeks) live() {
	switch n := w.r.IntN(12); n {
	case 0, 1, 2:
		w.come(queuetest.Mail(len(w.lines), terms.Allow))
	case 3, 4:
		w.come(queuetest.Effect(len(w.lines)))
	case 5:
		w.do(queuetest.Approve)
	case 6:
		w.do(queuetest.Deny)
	case 7:
		w.do(queuetest.Cancel)
	case 8, 9:
		w.do(queuetest.Start(""))
		w.do(queuetest.Finish(queue.End{Exit: []int{0, 0, 75}[w.r.IntN(3)]}))
	case 10:
		w.do(queuetest.Start(terms.ExternalSend))
		w.do(queuetest.Finish(queue.End{Exit: 0}))
	case 11:
		w.do(queuetest.Start("")) // its end is for a later step, or never
	}
}

func (w *weeks) come(line string) {
	w.lines = append(w.lines, line)
	w.do(queuetest.Add(line))
}

// damage takes something of the log of the queue that was put aside.
func (w *weeks) damage(was string) {
	names, err := filepath.Glob(was + "/audit/*")
	w.must(err)
	name := names[w.r.IntN(len(names))]
	b, err := os.ReadFile(name)
	w.must(err)
	at := w.r.IntN(len(b))
	switch w.r.IntN(3) {
	case 0:
		w.must(os.Truncate(name, int64(at)))
	case 1:
		w.must(os.WriteFile(name, append(b[:at:at], append([]byte("xxxx"), b[min(len(b), at+40):]...)...), 0o600))
	case 2:
		w.must(os.Remove(name))
	}
}

// restore puts the queue back from the backup, fetches again, and takes over what became of the
// tasks meanwhile.
func (w *weeks) restore(backup, was string, damaged bool) {
	w.s.Close()
	w.must(os.Rename(w.dir, was))
	w.must(os.Rename(backup, w.dir))
	if damaged {
		w.damage(was)
	}
	w.open()
	w.do(queuetest.Add(w.lines...))
	past, err := w.s.ReadPast(was)
	w.must(err)
	if past.Whole == damaged {
		w.Errorf("whole is %v, damaged %v", past.Whole, damaged)
	}
	w.learn(past)
	r, err := w.s.Verify("")
	if err != nil || len(r.Findings) > 0 {
		w.Errorf("%v %q", err, r.Findings)
	}
	w.must(w.s.View(func(v store.View) error {
		return v.Open("", func(e store.Entry) (bool, error) {
			s, err := queue.Load(v, e.State, e.ID)
			if err != nil {
				return false, err
			}
			told := s.Task.Reason == queue.ReasonRestored || s.Task.Reason == queue.ReasonUnknownEffect
			past := w.done[e.ID] || w.refused[e.ID]
			if past && (!damaged || e.State != task.Awaiting) || (past || w.begun[e.ID]) && !told {
				w.Errorf("damaged %v, done %v, refused %v, begun %v: %s is %s (%s)",
					damaged, w.done[e.ID], w.refused[e.ID], w.begun[e.ID], e.ID, e.State, s.Task.Reason)
			}
			return true, nil
		})
	}))
	w.answer()
}

func (w *weeks) learn(past *queue.Fates) {
	is := queue.NewFates()
	var lines store.Lines
	w.must(w.s.View(func(v store.View) (err error) {
		lines, err = v.Lines(time.Time{}, nil)
		return err
	}))
	w.must(lines(func(_ []byte, l *audit.Line) error { is.Add(l); return nil }))
	l := queue.Learning{Was: past, Is: is, By: "me"}
	for more := true; more; {
		w.must(queue.Update(w.s, func(tx *queue.Tx) (err error) {
			more, err = l.Step(tx, w.now)
			return err
		}))
	}
	w.asked += l.Asked
}

// answer is a person who was told that it may have been done, and looks.
func (w *weeks) answer() {
	w.must(queue.Update(w.s, func(tx *queue.Tx) error {
		return tx.Open(task.Awaiting, func(e store.Entry) (bool, error) {
			s, err := queue.Load(tx, task.Awaiting, e.ID)
			if err != nil {
				return false, err
			}
			switch {
			case s.Task.Reason != queue.ReasonRestored && s.Task.Reason != queue.ReasonUnknownEffect:
			case w.done[e.ID] || w.refused[e.ID] || w.begun[e.ID]:
				err = queue.Deny(tx, &s, "me", "terminal", "it was done", w.now)
			default:
				yes := queue.Yes(&s, "me", "terminal", w.now)
				yes.Expires = w.now.AddDate(2, 0, 0)
				err = queue.Approve(tx, &s, yes, w.now)
			}
			return true, err
		})
	}))
}

// TestRestoredWeekly: nothing is done twice, and nothing that was refused runs, however often a
// queue is put back from a copy. If the queue that was put aside is whole, no person is asked
// about what it had ended.
func TestRestoredWeekly(t *testing.T) {
	t.Parallel()
	done, asked := 0, 0
	for seed := range uint64(3) {
		w := newWeeks(t, seed)
		for week := range 12 {
			backup, was := filepath.Join(filepath.Dir(w.dir), "backup"), filepath.Join(filepath.Dir(w.dir), "was"+string(rune('a'+week)))
			w.come(queuetest.Mail(len(w.lines), terms.Allow))
			for range w.r.IntN(15) {
				w.live()
			}
			w.must(exec.Command("cp", "-a", w.dir, backup).Run())
			clear(w.begun)
			for range 10 + w.r.IntN(20) {
				w.live()
			}
			w.restore(backup, was, week%3 == 2)
			clear(w.begun)
		}
		done, asked = done+len(w.done), asked+w.asked
		if w.twice > 0 {
			t.Errorf("seed %d: %d done twice", seed, w.twice)
		}
		w.s.Close()
	}
	t.Logf("%d done, %d asked about", done, asked)
	if done < 50 || asked < 10 {
		t.Errorf("only %d done, %d asked about", done, asked)
	}
}

// TestPastOfAnother: a queue that is not the one that was put aside is refused, and one of which
// nothing can be read knows nothing.
func TestPastOfAnother(t *testing.T) {
	w, other := newWeeks(t, 1), newWeeks(t, 2)
	w.come(queuetest.Mail(1, terms.Allow))
	other.come(queuetest.Mail(2, terms.Allow))
	if _, err := w.s.ReadPast(other.dir); err == nil || fault.KindOf(err) != fault.Usage {
		t.Errorf("another queue: %v", err)
	}
	if past, err := w.s.ReadPast(w.dir); err != nil || !past.Whole {
		t.Errorf("itself: %+v, %v", past, err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	w.must(os.Mkdir(empty, 0o700))
	if past, err := w.s.ReadPast(empty); err == nil && past.Whole {
		t.Errorf("an empty directory: %+v", past)
	}
	if _, err := w.s.ReadPast(empty + "/none"); err == nil {
		t.Error("a directory that is not there says nothing of what was done")
	}
}
