package queue_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pulse/lib/queue"
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
	if loads -= 3; loads != 2*5 { // file and meta
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
