package queue_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// recorder is a store that remembers what was staged in it.
type recorder struct {
	*queuetest.Memory
	blobs []store.Blob
}

func (r *recorder) Update(fn func(store.View) (*store.Commit, error)) error {
	return r.Memory.Update(func(v store.View) (*store.Commit, error) {
		c, err := fn(v)
		if err == nil {
			r.blobs = append(r.blobs, c.Blobs...)
		}
		return c, err
	})
}

// shelves are all there are.
var shelves = func() []store.Shelf {
	all := []store.Shelf{
		store.Meta, store.Results, store.Drafts, store.Approvals, store.Partly, store.Spent, store.Grants,
		store.Sessions, store.Outbox, store.Positions, store.Pruned, store.Hold, store.Clocks, store.Refused, store.Findings,
		store.Extracts, store.Labels, store.Names,
	}
	for _, st := range task.States {
		all = append(all, store.On(st))
	}
	return all
}()

// content is what lies in a store: by shelf and key.
type content map[string]string

func place(s store.Shelf, key string) string { return string(s) + "/" + key }

func (r *recorder) content(t testing.TB) content {
	t.Helper()
	all := content{}
	err := r.View(func(v store.View) error {
		for _, s := range shelves {
			err := v.Each(s, func(key string, _ time.Time) (bool, error) {
				item, err := v.Get(s, key)
				all[place(s, key)] = string(item.Bytes)
				return true, err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// replay makes of the log, as it is read, what lies in the store.
func (r *recorder) replay(t testing.TB) content {
	t.Helper()
	all := content{}
	for _, l := range r.Log() {
		l, err := audit.Parse(l.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range store.Changes(&l) {
			at := place(c.Shelf, c.Key)
			switch lies, there := all[at]; {
			case c.From != "":
				if from, ok := all[place(c.From, c.Key)]; ok {
					all[at] = from
					delete(all, place(c.From, c.Key))
				}
			case c.Bytes != nil:
				all[at] = string(c.Bytes)
			case c.Digest != "", c.Lines != nil:
				i := slices.IndexFunc(r.blobs, func(b store.Blob) bool {
					listed, _ := store.ReadOutbox(b.Bytes)
					return b.Shelf == c.Shelf && b.Key == c.Key && (task.Digest(b.Bytes) == c.Digest || c.Lines != nil && slices.Equal(listed, c.Lines))
				})
				if i < 0 {
					t.Fatalf("%s: nothing was staged for %s", l.Append(nil), at)
				}
				all[at] = string(r.blobs[i].Bytes)
			case c.Less != "" && there:
				rest, _, err := store.Without([]byte(lies), c.Less)
				if all[at] = string(rest); err != nil {
					t.Fatal(err)
				}
				if len(rest) == 0 {
					delete(all, at)
				}
			case c.Gone():
				delete(all, at)
			}
		}
	}
	return all
}

// check holds a store against its log.
func (r *recorder) check(t testing.TB) {
	t.Helper()
	lies := r.content(t)
	if said := r.replay(t); !maps.Equal(lies, said) {
		for at := range lies {
			if lies[at] != said[at] {
				t.Errorf("%s is %q, and by the log %q", at, lies[at], said[at])
			}
		}
		for at := range said {
			if _, ok := lies[at]; !ok {
				t.Errorf("%s is gone, and by the log %q", at, said[at])
			}
		}
	}
	r.counted(t, lies)
	for _, wrong := range unlawful(r.Log()) {
		t.Error(wrong)
	}
}

// counted holds the counts and the index of open tasks against what lies there.
func (r *recorder) counted(t testing.TB, lies content) {
	t.Helper()
	err := r.View(func(v store.View) error {
		counts, states := v.Counts(), map[string]task.State{}
		for _, st := range task.States {
			n := 0
			err := v.Each(store.On(st), func(id string, _ time.Time) (bool, error) {
				if states[id] != "" {
					t.Errorf("%s is %s and %s", id, states[id], st)
				}
				if lies[place(store.Refused, id)] != "" {
					t.Errorf("%s is %s, and kept as refused", id, st)
				}
				if lies[place(store.Pruned, id)] != "" {
					t.Errorf("%s is %s, and pruned", id, st)
				}
				states[id] = st
				n++
				return true, nil
			})
			if err != nil {
				return err
			}
			if counts.Tasks[st] != n {
				t.Errorf("%d tasks are %s, and counted %d", n, st, counts.Tasks[st])
			}
		}
		open := 0
		err := v.Open("", func(e store.Entry) (bool, error) {
			if open++; states[e.ID] != e.State {
				t.Errorf("%s is %s, and by the index %s", e.ID, states[e.ID], e.State)
			}
			return true, nil
		})
		if want := counts.Tasks[task.Scheduled] + counts.Tasks[task.Awaiting] + counts.Tasks[task.Running]; open != want {
			t.Errorf("%d tasks are open, and %d in the index", want, open)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// unlawful returns the lines of a log that must not follow those before them.
func unlawful(log []audit.Line) (wrong []string) {
	held, answered, done, spent := false, map[string]string{}, map[string]bool{}, map[string]bool{}
	for i := range log {
		l := &log[i]
		effect := l.Kind == task.Effect && l.Action.Outward()
		why := ""
		switch l.Event {
		case audit.Held, audit.Released:
			held = l.Event == audit.Held
		case audit.Consumed:
			if spent[l.Grant.ID] {
				why = "the grant was spent"
			}
			spent[l.Grant.ID] = true
		case task.Started, task.Carried:
			switch {
			case held:
				why = "the queue is held"
			case done[l.Task]:
				why = "it was done"
			case effect && answered[l.Task] == "":
				why = "nobody said yes, or that yes was spent"
			}
		case task.Continued:
			if l.Kind != task.Ask {
				why = "it is no ask"
			}
			done[l.Task] = false
		case task.Requeued:
			done[l.Task] = false
		}
		if l.Event == task.Finished || l.Event == task.Carried {
			done[l.Task] = true
		}
		if l.Moves() {
			if task.Legal(l.Event, l.From, l.To) != nil {
				why = "it is not legal"
			}
			if answered[l.Task] = ""; l.Approval != nil {
				answered[l.Task] = l.Approval.Nonce
			}
			if effect && l.To == task.Running && l.Approval != nil {
				why = "the yes was not spent"
			}
		}
		if why != "" {
			wrong = append(wrong, fmt.Sprintf("line %d: %s: %s", i, why, l.Append(nil)))
		}
	}
	return wrong
}

// world is where an operation of a life is done: n counts those before it.
type world struct {
	store *recorder
	now   time.Time
	n     int
}

// deeds are what may happen in a life.
var deeds = []func(w *world) queuetest.Operation{
	func(w *world) queuetest.Operation { return queuetest.Add(queuetest.Mails(w.n, 3)...) },
	func(w *world) queuetest.Operation { return queuetest.Add(queuetest.Mails(max(1, w.n-5), 3)...) }, // some are known
	func(w *world) queuetest.Operation {
		return queuetest.Add(queuetest.Mail(w.n, terms.Review), queuetest.Effect(w.n), queuetest.Mail(w.n, terms.Reject))
	},
	func(w *world) queuetest.Operation {
		return queuetest.Add(queuetest.SessionMail(w.n, fmt.Sprint("b", w.n/8)), queuetest.SessionMail(w.n+1, fmt.Sprint("b", w.n/8)))
	},
	func(w *world) queuetest.Operation { return queuetest.Session(fmt.Sprint("b", w.n/8), 2, time.Hour) },
	func(w *world) queuetest.Operation { return queuetest.Grant(fmt.Sprintf("a%d", w.n)) },
	func(*world) queuetest.Operation { return queuetest.Refuse },
	func(w *world) queuetest.Operation {
		return queuetest.Keeping(queuetest.Mail(max(1, w.n-3), terms.Allow), queuetest.Wordy(max(2, w.n), terms.Reject), queuetest.RejectedEffect(w.n))
	},
	func(*world) queuetest.Operation { return queuetest.Forget },
	func(*world) queuetest.Operation { return queuetest.Start("") },
	func(*world) queuetest.Operation { return queuetest.Start(terms.ExternalSend) },
	func(*world) queuetest.Operation { return queuetest.Finish(queue.End{Result: []byte("done\n")}) },
	func(*world) queuetest.Operation { return queuetest.Finish(queue.End{Exit: 1}) },
	func(*world) queuetest.Operation { return queuetest.Finish(queue.End{Exit: 75}) },
	func(*world) queuetest.Operation { return queuetest.StartReader },
	func(*world) queuetest.Operation { return queuetest.FinishReader(0, queuetest.Fits) },
	func(*world) queuetest.Operation { return queuetest.FinishReader(0, queuetest.Prose) },
	func(*world) queuetest.Operation { return queuetest.FinishReader(1, "") },
	func(w *world) queuetest.Operation { return queuetest.Propose(w.n) },
	func(*world) queuetest.Operation { return queuetest.Take },
	func(w *world) queuetest.Operation { return w.takeTwice() },
	func(*world) queuetest.Operation { return queuetest.Chores },
	func(w *world) queuetest.Operation { return w.closeAll() },
	func(w *world) queuetest.Operation { // for a person, by the policy of today
		return queuetest.Add(strings.Replace(queuetest.Mail(w.n, terms.Allow), `"read_public"`, `"destructive"`, 1))
	},
	func(*world) queuetest.Operation { return queuetest.Approve },
	func(*world) queuetest.Operation { return queuetest.Deny },
	func(*world) queuetest.Operation { return queuetest.Requeue },
	func(*world) queuetest.Operation { return queuetest.Reap },
	func(*world) queuetest.Operation { return queuetest.Resurface },
	func(*world) queuetest.Operation { return queuetest.Consume },
	func(*world) queuetest.Operation { return queuetest.Cancel },
	func(*world) queuetest.Operation { return queuetest.CancelAll },
	func(*world) queuetest.Operation { return queuetest.Prune },
	func(*world) queuetest.Operation { return queuetest.EndSession },
	func(*world) queuetest.Operation { return queuetest.Brake(audit.Held) },
	func(*world) queuetest.Operation { return queuetest.Brake(audit.Released) },
	func(*world) queuetest.Operation { return queuetest.Brake(audit.Resumed) },
	func(*world) queuetest.Operation { return queuetest.Confirm },
	func(w *world) queuetest.Operation { return w.tick(time.Hour) },
	func(w *world) queuetest.Operation { return w.tick(25 * time.Hour) },
	func(w *world) queuetest.Operation { return w.tick(-2 * time.Hour) },
	func(*world) queuetest.Operation { return queuetest.Agree },
}

// tick moves the clock, forward or back.
func (w *world) tick(d time.Duration) queuetest.Operation {
	w.now = w.now.Add(d)
	return queuetest.Nothing
}

// takeTwice takes what was proposed, all of it twice.
func (w *world) takeTwice() queuetest.Operation {
	var lines []string
	err := queuetest.Proposed(w.store, func(line string) { lines = append(lines, queuetest.Decided(line)) })
	if err != nil {
		return queuetest.Operation{Name: "take twice", Do: func(store.Store, time.Time) error { return err }}
	}
	return queuetest.Add(append(lines, lines...)...)
}

// closeAll adds effects that close what waits and came out of the same root.
func (w *world) closeAll() queuetest.Operation {
	return queuetest.Update("close all", func(tx *queue.Tx, now time.Time) error {
		return tx.Open(task.Awaiting, func(e store.Entry) (bool, error) {
			subject, err := queue.Load(tx, task.Awaiting, e.ID)
			if err != nil || subject.Identity.Root == "" {
				return true, err
			}
			w.n++
			evidence := `[]`
			if root, err := queue.Find(tx, subject.Identity.Root); err == nil && root.Message != nil {
				evidence = fmt.Sprintf(`[%q]`, root.Message.ID)
			}
			one := evident(w.n, subject.Identity.Root, proposal.Close, e.ID, evidence)
			one.Task.Created = now
			file := queuetest.File(one)
			return true, tx.Add(file, audit.Line{
				Time: now, Event: task.Added, Task: one.Task.ID, To: task.Scheduled, Digest: task.Digest(file), Kind: task.Effect, Action: terms.WriteLocal,
			})
		})
	})
}

// live does what a byte stands for. If the byte is large, a step of it fails, and then
// nothing may have happened.
func (w *world) live(t *testing.T, b byte) {
	t.Helper()
	w.n++
	w.now = w.now.Add(time.Second)
	op := deeds[int(b)%len(deeds)](w)
	broke := false
	if n := int(b) / len(deeds); n > 3 {
		n -= 3
		w.store.Fail = func(string) error {
			if n--; n == 0 {
				broke = true
				return errBroken
			}
			return nil
		}
	}
	before := len(w.store.Log())
	err := op.Do(w.store, w.now)
	w.store.Fail = nil
	switch after := len(w.store.Log()); {
	case broke && !errors.Is(err, errBroken):
		t.Errorf("%s: a step failed, and it says %v", op.Name, err)
	case err != nil && after != before:
		t.Errorf("%s: %v, and the log grew", op.Name, err)
	case err != nil && !broke:
		t.Errorf("%s: %v", op.Name, err)
	}
}

// FuzzTx: whatever happens in whatever order, and fails in whatever step, a task is in
// one state, started once for each yes or attempt and never while the queue is held, and
// the store holds what its log says.
func FuzzTx(f *testing.F) {
	var each []byte
	for i := range deeds {
		each = append(each, byte(i))
	}
	f.Add(each)
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		life := make([]byte, 80)
		for i := range life {
			if life[i] = byte(random.IntN(len(deeds))); random.IntN(8) == 0 {
				life[i] = byte(random.IntN(256))
			}
		}
		f.Add(life)
	}
	f.Fuzz(func(t *testing.T, life []byte) {
		w := &world{store: &recorder{Memory: queuetest.NewMemory()}, now: now}
		for _, b := range life[:min(len(life), 200)] {
			if w.live(t, b); t.Failed() {
				break
			}
		}
		w.store.check(t)
	})
}

// TestLivesHaveEverything: each event that needs no hand in the store comes in them.
func TestLivesHaveEverything(t *testing.T) {
	seen := map[task.Event]bool{}
	random := rand.New(rand.NewPCG(3, 12))
	hopeless := []queuetest.Operation{queuetest.Add(queuetest.Mails(1, 1)...)}
	for range queuetest.Policy.Limits.MaxAttempts {
		hopeless = append(hopeless, queuetest.Start(""), queuetest.Finish(queue.End{Exit: 1}))
	}
	scripts := append(make([][]queuetest.Operation, 30), queuetest.Life, hopeless)
	for i, script := range scripts {
		w := &world{store: &recorder{Memory: queuetest.NewMemory()}, now: now}
		step := 2 * time.Hour
		if i == len(scripts)-1 {
			step = 12 * time.Hour // until the last attempt
		}
		for _, op := range script {
			if err := op.Do(w.store, w.now); err != nil {
				t.Error(op.Name, err)
			}
			w.now = w.now.Add(step)
		}
		w.n = 100
		for range 100 {
			w.live(t, byte(random.IntN(len(deeds))))
		}
		w.store.check(t)
		for _, l := range w.store.Log() {
			seen[l.Event] = true
		}
	}
	for _, e := range slices.Concat(task.Events, audit.Events) {
		if rare := slices.Contains([]task.Event{task.Broke, task.Learned, audit.Limited, audit.Read, audit.Repaired, audit.Revoked}, e); seen[e] == rare {
			t.Errorf("%s: seen %t", e, seen[e])
		}
	}
}
