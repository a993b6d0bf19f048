package queuetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// Storm lets writers work on one queue at the same time, each with a store of its own.
// They add mails, each mail twice, by two of them, and start and finish the tasks that
// they find. No task may be lost, and none may run twice.
func Storm(open func() (store.Store, error), writers, mails int) error {
	errs := make([]error, writers)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() { errs[w] = write(open, w/2*mails, mails) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s, err := open()
	if err != nil {
		return err
	}
	return weathered(s, (writers+1)/2*mails)
}

// write is one of the writers.
func write(open func() (store.Store, error), from, mails int) error {
	s, err := open()
	if err != nil {
		return err
	}
	for uid := from; uid < from+mails; uid++ {
		if err := Add(Mails(uid, 1)...).Do(s, Epoch); err != nil {
			return err
		}
	}
	for idle := false; !idle; {
		var claim *queue.Claim
		err := queue.Update(s, func(tx *queue.Tx) (err error) {
			p := *Policy
			p.Limits.MaxPerDay, p.Limits.PerSenderPerHour = 1<<20, 1<<20
			run := queue.Run{Policy: &p, Max: 1, Now: func() time.Time { return Epoch }}
			claim, _, err = run.Next(tx, func(string) error { return nil })
			return err
		})
		if idle = claim == nil; idle || err != nil {
			return err
		}
		err = queue.Update(s, func(tx *queue.Tx) error {
			_, err := queue.Finish(tx, claim, queue.End{Result: []byte(claim.Task.ID)}, &Policy.Limits, Epoch)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// weathered checks the queue after a storm.
func weathered(s store.Store, want int) error {
	return s.View(func(v store.View) error {
		events := map[string]map[task.Event]int{}
		err := v.Back(func(l audit.Line) bool {
			if events[l.Task] == nil {
				events[l.Task] = map[task.Event]int{}
			}
			events[l.Task][l.Event]++
			return true
		})
		for id, n := range events {
			if n[task.Added] != 1 || n[task.Started] != 1 || n[task.Finished] != 1 {
				err = errors.Join(err, fmt.Errorf("task %s: %v", id, n))
			}
		}
		done := 0
		err = errors.Join(err, v.Each(store.On(task.Completed), func(id string, _ time.Time) (bool, error) {
			done++
			result, err := queue.ResultOf(v, id)
			if err == nil && string(result) != id {
				err = fmt.Errorf("task %s has the result of another one: %s", id, result)
			}
			return true, err
		}))
		if counted := v.Counts().Tasks[task.Completed]; len(events) != want || done != want || counted != want {
			err = errors.Join(err, fmt.Errorf("%d in the log, %d lie there, %d counted, want %d",
				len(events), done, counted, want))
		}
		return err
	})
}
