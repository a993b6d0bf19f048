package queue

import (
	"testing"
	"time"

	"pulse/lib/task"
)

func TestPrune(t *testing.T) {
	const day = 24 * time.Hour
	list := []Stored{
		stored(1, task.Completed, 40*day, 35*day),
		stored(2, task.Completed, 40*day, 30*day), // exactly so old
		stored(3, task.Completed, 40*day, 29*day), // made long ago, done lately
		stored(4, task.Rejected, 40*day, 35*day),  // in another state
		stored(5, task.Completed, 31*day, 31*day),
		stored(6, task.Completed, 2*day, day),
		stored(7, task.Completed, day, day),
	}
	s := newShelf(list...)
	n, left, err := Prune(s, task.Completed, s.in(task.Completed), 30*day, "me", now)
	if n != 3 || len(left) != 0 || err != nil {
		t.Errorf("%d, %v, %v", n, left, err)
	}
	for i, want := range []int{0, 1, 4} {
		if l := s.moved[i]; l.Task != list[want].Task.ID || l.Event != task.Pruned || l.To != "" || l.By != "me" {
			t.Errorf("%+v", l)
		}
	}
	if s.loads != 5 {
		t.Errorf("%d files were read: the first one that is too young ends it", s.loads)
	}
}

func TestPruneInTurns(t *testing.T) {
	s := newShelf()
	for i := range maxMoves + 10 {
		one := stored(i, task.Failed, time.Hour, -time.Hour) // the clock went back
		s.order, s.tasks[one.Task.ID] = append(s.order, one.Task.ID), one
	}
	s.bad[s.order[3]] = ErrCorrupt
	delete(s.tasks, s.order[4])
	n, left, err := Prune(s, task.Failed, s.in(task.Failed), 0, "me", now)
	if n != maxMoves-2 || len(left) != 10 || err != nil {
		t.Fatalf("%d, %d left, %v", n, len(left), err)
	}
	if n, left, err = Prune(s, task.Failed, left, 0, "me", now); n != 10 || len(left) != 0 || err != nil {
		t.Errorf("%d, %d left, %v", n, len(left), err)
	}
}
