package queue_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// prune prunes what is listed in a state.
func (s *shelf) prune(st task.State, ids []queue.ID, limit time.Duration) (n int, left []queue.ID, err error) {
	err = s.update(func(tx *queue.Tx) error {
		n, left, err = queue.Prune(tx, st, ids, limit, "me", now)
		return err
	})
	return n, left, err
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
		s.view(func(v queue.View) error {
			last, err := queue.PrunedOf(v, id)
			if last != task.Completed {
				t.Errorf("%s: its last state is %q", id, last)
			}
			return err
		})
	}
	if loads -= 3; loads != 3*5 { // file, meta and labels
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
	s.Lay(queue.On(task.Failed), list[3].Task.ID, queue.Item{Bytes: []byte("{")})
	s.Lay(queue.On(task.Failed), list[4].Task.ID, queue.Item{})
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
	s.Lay(queue.Drafts, gone.Task.ID, queue.Item{})
	s.Lay(queue.Drafts, edited.Task.ID, queue.Item{Bytes: []byte("{}")})
	at := now
	tell := func() {
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
		_, _, err := queue.Prune(tx, task.Completed, ids, 0, "me", at)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	s.view(func(v queue.View) error {
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
