package queue_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// prune prunes what is listed in a state.
func (s *shelf) prune(st task.State, ids []store.ID, limit time.Duration) (n int, left []store.ID, err error) {
	var done queue.Removed
	err = s.update(func(tx *queue.Tx) error {
		done, left, err = queue.Prune(tx, st, ids, &queue.Older{Than: limit}, "me", now)
		return err
	})
	return done.Tasks, left, err
}

func TestPrune(t *testing.T) {
	const day = 24 * time.Hour
	list := []*queue.Stored{
		stored(1, task.Completed, 45*day, 35*day),
		stored(2, task.Completed, 44*day, 30*day), // exactly so old
		stored(3, task.Completed, 43*day, 29*day), // made long ago, done lately
		stored(4, task.Rejected, 42*day, 35*day),  // in another state
		stored(5, task.Completed, 30*day, 30*day), // exactly so old, all of it
		stored(6, task.Completed, 2*day, day),
		stored(7, task.Completed, day, day),
	}
	s := newShelf(t, list...)
	loads := 0
	s.Fail = func(step string) error {
		if step == "Get" {
			loads++
		}
		return nil
	}
	n, left, err := s.prune(task.Completed, s.everything(task.Completed), 30*day)
	if n != 3 || len(left) != 0 || err != nil {
		t.Errorf("%d, %v, %v", n, left, err)
	}
	for i, want := range []int{0, 1, 4} {
		id := list[want].Task.ID
		if l := s.lines()[i]; l.Task != id || l.Event != task.Pruned || l.To != "" || l.By != "me" {
			t.Errorf("%+v", l)
		}
		s.view(func(v store.View) error {
			last, err := queue.PrunedOf(v, id)
			if last != task.Completed {
				t.Errorf("%s: its last state is %q", id, last)
			}
			return err
		})
	}
	if loads -= 3 + 1; loads != 3*5 { // file, meta and labels; and once the clock
		t.Errorf("%d reads: the first one that is too young ends it", loads)
	}
}

func TestPruneInTurns(t *testing.T) {
	var list []*queue.Stored
	for i := range queue.MaxMoves + 10 {
		list = append(list, stored(i, task.Failed, time.Duration(-i)*time.Second, -time.Hour)) // the clock went back
	}
	s := newShelf(t, list...)
	ids := s.everything(task.Failed)
	s.Lay(store.On(task.Failed), list[3].Task.ID, store.Item{Bytes: []byte("{")})
	s.Lay(store.On(task.Failed), list[4].Task.ID, store.Item{})
	if _, left, err := s.prune(task.Failed, ids, time.Second); len(left) != 0 || err != nil || len(s.lines()) > 0 {
		t.Errorf("they were made later than now: %v, %+v", err, s.lines())
	}
	n, left, err := s.prune(task.Failed, ids, 0)
	if n != queue.MaxMoves-2 || !slices.Equal(left, ids[queue.MaxMoves:]) || err != nil {
		t.Fatalf("%d, %d left, %v", n, len(left), err)
	}
	s.failOn("Get")
	if _, again, err := s.prune(task.Failed, left, 0); !errors.Is(err, errBroken) || len(again) != 10 {
		t.Errorf("%d left, %v", len(again), err)
	}
	s.Fail = nil
	if n, left, err = s.prune(task.Failed, left, 0); n != 10 || len(left) != 0 || err != nil {
		t.Errorf("%d, %d left, %v", n, len(left), err)
	}
}

// TestDraftsAreToldOf: a draft is told of once, if nobody has touched it, and its task is
// not pruned by the command that told.
func TestDraftsAreToldOf(t *testing.T) {
	const day = 24 * time.Hour
	root := asked(stored(1, task.Completed, 90*day, 90*day))
	lies, gone, edited := chore(2, root.Task.ID, proposal.Draft, ""), chore(3, root.Task.ID, proposal.Draft, "x"), chore(4, root.Task.ID, proposal.Draft, "y")
	s := newShelf(t, root, lies, gone, edited)
	if _, err := s.chores(); err != nil {
		t.Fatal(err)
	}
	s.Lay(store.Drafts, gone.Task.ID, store.Item{})
	s.Lay(store.Drafts, edited.Task.ID, store.Item{Bytes: []byte("{}")})
	at := now
	tell := func() {
		s.believe(at)
		ids, err := queue.DraftsOlder(s, 3*day, at)
		for err == nil && len(ids) > 0 {
			err = s.update(func(tx *queue.Tx) (err error) {
				ids, err = queue.ResurfaceDrafts(tx, ids, at)
				return err
			})
		}
		if err != nil {
			t.Error(err)
		}
	}
	told := func() (ids []string) {
		for _, l := range s.lines() {
			if l.Event == audit.Resurfaced {
				ids = append(ids, l.Task)
			}
		}
		return ids
	}
	tell()
	if got := told(); len(got) != 0 {
		t.Errorf("told of %s at once", got)
	}
	for range 3 {
		at = at.Add(4 * day)
		tell()
		if got := told(); !slices.Equal(got, []string{lies.Task.ID}) {
			t.Errorf("told of %s", got)
		}
		if at.Sub(now) == 4*day { // the command that told
			prunes(t, s, at, []*queue.Stored{root, gone, edited}, lies)
		}
	}
	prunes(t, s, at, []*queue.Stored{lies}, nil)
}

// prunes makes sure that all that has ended is pruned, except left.
func prunes(t *testing.T, s *shelf, at time.Time, gone []*queue.Stored, left *queue.Stored) {
	t.Helper()
	ids := s.everything(task.Completed)
	err := s.update(func(tx *queue.Tx) error {
		_, _, err := queue.Prune(tx, task.Completed, ids, &queue.Older{}, "me", at)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	s.view(func(v store.View) error {
		for _, one := range gone {
			if st, err := v.Where(one.Task.ID); st != "" || err != nil {
				t.Errorf("%s is %q, %v", one.Task.ID, st, err)
			}
		}
		if left != nil {
			if st, err := v.Where(left.Task.ID); st != task.Completed || err != nil {
				t.Errorf("%s is %q, %v", left.Task.ID, st, err)
			}
		}
		return nil
	})
}

// TestPruneTakesDrafts: a draft goes with its task unless a person edited it, also where the
// task was put back and cancelled, and also when a person names the task.
func TestPruneTakesDrafts(t *testing.T) {
	root := asked(stored(1, task.Completed, 0, 0))
	lies, edited := chore(2, root.Task.ID, proposal.Draft, ""), chore(3, root.Task.ID, proposal.Draft, "x")
	broken, gone := chore(4, root.Task.ID, proposal.Draft, "y"), chore(5, root.Task.ID, proposal.Draft, "z")
	for _, named := range []bool{false, true} {
		s := newShelf(t, root, lies, edited, broken, gone)
		if _, err := s.chores(); err != nil {
			t.Fatal(err)
		}
		s.Lay(store.Drafts, edited.Task.ID, store.Item{Bytes: []byte("{}")})
		s.Lay(store.Drafts, gone.Task.ID, store.Item{})
		var done queue.Removed
		for i := range 2 { // the first one tells
			ids := s.everything(task.Completed)
			err := s.update(func(tx *queue.Tx) error {
				if !named {
					d, _, err := queue.Prune(tx, task.Completed, ids, &queue.Older{}, "me", now.Add(time.Duration(i+1)*time.Hour))
					done.Tasks, done.Edited = done.Tasks+d.Tasks, done.Edited+d.Edited
					return err
				}
				for _, one := range []*queue.Stored{lies, edited, broken, gone} {
					_, d, err := queue.PruneOne(tx, one.Task.ID, "me", now.Add(time.Duration(i+1)*time.Hour))
					if done.Tasks, done.Edited = done.Tasks+d.Tasks, done.Edited+d.Edited; err != nil && !errors.Is(err, store.ErrUnknown) {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if done.Edited != 1 {
			t.Errorf("named %v: %+v", named, done)
		}
		s.view(func(v store.View) error {
			for one, want := range map[*queue.Stored]bool{edited: true, gone: false} {
				if has, err := v.Has(store.Drafts, one.Task.ID); has != want || err != nil {
					t.Errorf("named %v: the draft of %s: %v, %v", named, one.Task.ID, has, err)
				}
			}
			if has, err := v.Has(store.Drafts, lies.Task.ID); has || err != nil {
				t.Errorf("the draft that nobody touched is there: %v", err)
			}
			return nil
		})
	}
}

func TestPruneOneRefuses(t *testing.T) {
	for _, st := range []task.State{task.Scheduled, task.Awaiting, task.Running} {
		one := stored(1, st, 0, 0)
		s := newShelf(t, one)
		err := s.update(func(tx *queue.Tx) error {
			_, _, err := queue.PruneOne(tx, one.Task.ID, "me", now)
			return err
		})
		if !errors.Is(err, queue.ErrState) || len(s.lines()) != 0 {
			t.Errorf("%s: %v", st, err)
		}
	}
}

// TestPruneAfterAClockThatWasBehind: what ended by a clock that was a year behind, for a tick or for
// hours, is kept as long as all else, from when the clock was right again.
func TestPruneAfterAClockThatWasBehind(t *testing.T) {
	const year = 365 * days
	for _, lasts := range []time.Duration{0, 5 * time.Hour} {
		w := newWall(t, 10)
		w.wrong = -year
		w.do(queuetest.Add(queuetest.Mails(1, 1)...)) // genuinely a year old
		w.run()
		w.real, w.wrong = w.real.Add(-100*days), 0
		w.do(queuetest.Add(queuetest.Mails(2, 1)...)) // of 100 days ago, and done by the wrong clock
		w.real = w.real.Add(100 * days)
		w.do(queuetest.Add(queuetest.Mails(3, 1)...))
		w.do(queuetest.Confirm)
		w.wrong = -year + 10*time.Hour
		w.run()
		if w.real = w.real.Add(lasts); lasts > 0 {
			w.do(queuetest.Brake(audit.Released)) // it goes on, and is believed
		}
		w.wrong = 0
		w.do(queuetest.Brake(audit.Released))
		for _, c := range []struct {
			after time.Duration
			want  int
		}{{2 * time.Hour, 1}, {89 * days, 0}, {2 * days, 2}} {
			w.real = w.real.Add(c.after)
			w.do(queuetest.Confirm)
			if got := w.prune(90 * days); got != c.want {
				t.Errorf("%s: %d pruned after %s, want %d", lasts, got, c.after, c.want)
			}
		}
	}
}

func (w *wall) prune(limit time.Duration) (n int) {
	w.t.Helper()
	old, err := queue.OlderThan(w.store, limit, w.clock())
	if err != nil {
		w.t.Fatal(err)
	}
	lists, err := w.store.List([]task.State{task.Completed}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.do(queuetest.Update("prune", func(tx *queue.Tx, now time.Time) error {
		done, _, err := queue.Prune(tx, task.Completed, lists[0].IDs, &old, "me", now)
		n = done.Tasks
		return err
	}))
	return n
}
