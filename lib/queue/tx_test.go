package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// file is a task file with the nth id, and added is the line that takes it.
func file(n int) (b []byte, added audit.Line) {
	s := stored(n, task.Scheduled, 0, 0)
	b = queuetest.File(s)
	return b, audit.Line{Time: now, Event: task.Added, Task: s.Task.ID, To: task.Scheduled, Digest: task.Digest(b)}
}

func move(e task.Event, id string, from, to task.State) audit.Line {
	return audit.Line{Time: now, Event: e, Task: id, From: from, To: to}
}

// TestTxMoves: a task is added once, and moved from where it is: what was staged before
// counts, and what is not legal is not staged.
func TestTxMoves(t *testing.T) {
	there := stored(1, task.Scheduled, 0, 0)
	id, fresh := there.Task.ID, stored(2, task.Scheduled, 0, 0).Task.ID
	add := func(n int) func(tx *queue.Tx) error {
		return func(tx *queue.Tx) error { return tx.Add(file(n)) }
	}
	moved := func(e task.Event, id string, from, to task.State) func(tx *queue.Tx) error {
		return func(tx *queue.Tx) error { return tx.Move(move(e, id, from, to)) }
	}
	type step = func(tx *queue.Tx) error
	for name, c := range map[string]struct {
		steps []step
		want  error // of the last step
		state task.State
	}{
		"start":                   {[]step{moved(task.Started, id, task.Scheduled, task.Running)}, nil, task.Running},
		"start twice":             {[]step{moved(task.Started, id, task.Scheduled, task.Running), moved(task.Started, id, task.Scheduled, task.Running)}, store.ErrConflict, task.Running},
		"start and finish":        {[]step{moved(task.Started, id, task.Scheduled, task.Running), moved(task.Finished, id, task.Running, task.Completed)}, nil, task.Completed},
		"from where it is not":    {[]step{moved(task.Finished, id, task.Running, task.Completed)}, store.ErrConflict, task.Scheduled},
		"to where it may not":     {[]step{moved(task.Started, id, task.Scheduled, task.Completed)}, task.ErrIllegal, task.Scheduled},
		"an event made up":        {[]step{moved("moved", id, task.Scheduled, task.Running)}, task.ErrIllegal, task.Scheduled},
		"nothing":                 {[]step{moved(task.Started, fresh, task.Scheduled, task.Running)}, store.ErrConflict, task.Scheduled},
		"a known id is added":     {[]step{add(1)}, store.ErrConflict, task.Scheduled},
		"a new id is added":       {[]step{add(2)}, nil, task.Scheduled},
		"a new id is added twice": {[]step{add(2), add(2)}, store.ErrConflict, task.Scheduled},
		"added and started":       {[]step{add(2), moved(task.Started, fresh, task.Scheduled, task.Running)}, nil, task.Scheduled},
		"added to an end": {[]step{func(tx *queue.Tx) error {
			b, l := file(2)
			l.To = task.Completed
			return tx.Add(b, l)
		}}, task.ErrIllegal, task.Scheduled},
	} {
		s := newShelf(t, there)
		staged := 0
		err := s.update(func(tx *queue.Tx) error {
			for i, do := range c.steps {
				before, _ := tx.Where(id)
				err := do(tx)
				if after, _ := tx.Where(id); err != nil && after != before {
					t.Errorf("%s: it failed, and Where is %s after %s", name, after, before)
				}
				if last := i == len(c.steps)-1; last && !errors.Is(err, c.want) || !last && err != nil {
					t.Errorf("%s: step %d: %v", name, i, err)
				}
				if err == nil {
					staged++
				}
			}
			return nil // what failed was not staged
		})
		if err != nil || len(s.lines()) != staged || s.find(id).Task.State != c.state {
			t.Errorf("%s: %v, %d lines, want %d, and it is %s", name, err, len(s.lines()), staged, s.find(id).Task.State)
		}
	}
}

// TestTxOfNothing: an Update that stages nothing, or fails, changes nothing.
func TestTxOfNothing(t *testing.T) {
	there := stored(1, task.Scheduled, 0, 0)
	s := newShelf(t, there)
	everything := func(tx *queue.Tx) error {
		return errors.Join(tx.Add(file(2)), tx.Move(move(task.Started, there.Task.ID, task.Scheduled, task.Running)),
			tx.Log(audit.Line{Time: now, Event: audit.Held}), refuse(tx, audit.Line{Time: now, Event: task.Refused, Task: one}))
	}
	for what, fn := range map[string]func(tx *queue.Tx) error{
		"nothing": func(*queue.Tx) error { return nil },
		"fails": func(tx *queue.Tx) error {
			tx.Position(store.Position{Source: "s", UID: 1}, now)
			return errors.Join(everything(tx), errBroken)
		},
	} {
		if err := s.update(fn); errors.Is(err, errBroken) != (what == "fails") || len(s.lines()) > 0 || s.find(there.Task.ID).Task.State != task.Scheduled {
			t.Errorf("%s: %v, %+v", what, err, s.lines())
		}
	}
	for _, step := range []string{"Where", string(task.Started), string(audit.Held)} {
		s.failOn(step)
		if err := s.update(everything); !errors.Is(err, errBroken) || len(s.lines()) > 0 {
			t.Errorf("%s fails: %v, %+v", step, err, s.lines())
		}
	}
	s.Fail = nil
	s.view(func(v store.View) error {
		if c := v.Counts(); c.Refused != 0 || c.Tasks[task.Scheduled] != 1 {
			t.Errorf("%+v", c)
		}
		return nil
	})
	if err := s.update(func(tx *queue.Tx) error {
		return tx.Log(move(task.Started, there.Task.ID, task.Scheduled, task.Running))
	}); err == nil {
		t.Error("a line of the log moved a task")
	}
	if err := s.update(everything); err != nil || len(s.lines()) != 4 {
		t.Errorf("%v, %+v", err, s.lines())
	}
}

// TestTxOrder: tasks that are added in one Update stay in that order.
func TestTxOrder(t *testing.T) {
	s := newShelf(t)
	var want []store.ID
	err := s.update(func(tx *queue.Tx) error {
		for _, n := range []int{5, 3, 9, 1} {
			want = append(want, store.IDOf(fmt.Sprintf("%032x", n)))
			if err := tx.Add(file(n)); err != nil {
				return err
			}
		}
		return nil
	})
	if got := s.everything(task.Scheduled); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", err, got, want)
	}
	var made []string
	s.view(func(v store.View) error {
		return v.Each(store.On(task.Scheduled), func(id string, at time.Time) (bool, error) {
			made = append(made, id)
			return true, nil
		})
	})
	for i := range want {
		if made[i] != want[i].String() {
			t.Errorf("%v, want %v", made, want)
		}
	}
}

// TestRefusals: the first thousand of a day have a line, the next one says so, and all of
// them are counted, whatever lies between.
func TestRefusals(t *testing.T) {
	night := time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC)
	morning := night.Add(2 * time.Minute)
	type batch struct {
		n  int
		at time.Time
	}
	for name, c := range map[string]struct {
		updates         [][]batch
		listed, limited int
		counted         int // of the last day
	}{
		"all of the share":      {[][]batch{{{1000, night}}}, 1000, 0, 1000},
		"one more":              {[][]batch{{{1001, night}}}, 1000, 1, 1001},
		"many more":             {[][]batch{{{1500, night}}}, 1000, 1, 1500},
		"over two Updates":      {[][]batch{{{999, night}}, {{1, night}}, {{1, night}}, {{7, night}}}, 1000, 1, 1008},
		"over midnight":         {[][]batch{{{1002, night}, {1003, morning}}}, 2000, 2, 1003},
		"the next day":          {[][]batch{{{1002, night}}, {{1003, morning}}}, 2000, 2, 1003},
		"the next day, a few":   {[][]batch{{{1002, night}, {3, morning}}}, 1003, 1, 3},
		"in another time zone":  {[][]batch{{{600, night}, {600, night.In(time.FixedZone("", 7200))}}}, 1000, 1, 1200},
		"not so many, two days": {[][]batch{{{600, night}, {600, morning}}}, 1200, 0, 600},
	} {
		s := newShelf(t)
		for _, update := range c.updates {
			err := s.update(func(tx *queue.Tx) error {
				for _, b := range update {
					for range b.n {
						if err := refuse(tx, audit.Line{Time: b.at, Event: task.Refused, Task: one}); err != nil {
							return err
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		n := map[task.Event]int{}
		for _, l := range s.Log() {
			n[l.Event]++
		}
		var counts store.Counts
		s.view(func(v store.View) error { counts = v.Counts(); return nil })
		if n[task.Refused] != c.listed || n[audit.Limited] != c.limited || counts.Refused != c.counted {
			t.Errorf("%s: %v, %+v", name, n, counts)
		}
	}
}

// TestPositions: a source is never set back, by what is replayed or comes late; what is
// not a position does not have to be kept.
func TestPositions(t *testing.T) {
	at := func(validity, uid uint32, received time.Duration) store.Position {
		return store.Position{Source: "s", UIDValidity: validity, UID: uid, Received: now.Add(received)}
	}
	old := at(7, 10, 0)
	foreign := store.Position{Source: "r", UIDValidity: 7, UID: 99, Received: now}
	for name, c := range map[string]struct {
		lies []byte
		p    store.Position
		want bool
	}{
		"the first":                {nil, old, true},
		"further":                  {old.Append(nil), at(7, 11, 0), true},
		"further, dated later":     {old.Append(nil), at(7, 11, time.Hour), true},
		"the same":                 {old.Append(nil), old, false},
		"replayed":                 {old.Append(nil), at(7, 9, time.Hour), false},
		"numbered anew":            {old.Append(nil), at(8, 1, time.Hour), true},
		"numbered anew, same time": {old.Append(nil), at(8, 1, 0), true},
		"as numbered before":       {old.Append(nil), at(6, 99, -time.Hour), false},
		"after what is no JSON":    {[]byte("{"), at(7, 1, 0), true},
		"after another source's":   {foreign.Append(nil), at(7, 1, 0), true},
	} {
		s := newShelf(t)
		if c.lies != nil {
			s.Lay(store.Positions, store.PositionKey("s"), store.Item{Bytes: c.lies})
		}
		if err := s.update(func(tx *queue.Tx) error { tx.Position(c.p, now); return nil }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if lines := s.lines(); (len(lines) == 1 && lines[0].Event == audit.Read && slices.Equal(lines[0].Positions, []store.Position{c.p})) != c.want {
			t.Errorf("%s: %+v", name, lines)
		}
		if !c.want {
			c.p = old
		}
		s.view(func(v store.View) error {
			p, known, err := queue.PositionOf(v, "s")
			if p != c.p || !known {
				t.Errorf("%s: %+v, %t", name, p, known)
			}
			return err
		})
	}
}

// TestPositionTime: the time of a position neither goes back with the date of a mail nor lies ahead
// of when that was fetched, in one batch or in several.
func TestPositionTime(t *testing.T) {
	mail := func(uid int, received string) string {
		return strings.Replace(queuetest.Mail(uid, terms.Allow), `"received":"2026-11-21T06:00:00Z"`, `"received":"`+received+`","fetched":"2026-11-21T07:00:00Z"`, 1)
	}
	old, future := mail(2, "2011-01-01T00:00:00Z"), mail(3, "2036-01-01T00:00:00Z")
	for _, batches := range [][][]string{
		{{mail(1, "2026-11-21T06:00:00Z"), old}}, {{mail(1, "2026-11-21T06:00:00Z")}, {old}},
		{{future}}, {{mail(1, "2026-11-21T06:00:00Z")}, {future}, {mail(4, "2011-01-01T00:00:00Z")}},
	} {
		s := newShelf(t)
		want := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
		for _, b := range batches {
			s.commit(s.batch(b...))
			if b[0] == future {
				want = want.Add(time.Hour)
			}
		}
		s.view(func(v store.View) error {
			p, _, err := queue.PositionOf(v, queuetest.Source)
			if !p.Received.Equal(want) {
				t.Errorf("%v, want %v", p.Received, want)
			}
			return err
		})
	}
}

// TestFurthestPositionCounts: records of one batch may come in any order.
func TestFurthestPositionCounts(t *testing.T) {
	s := newShelf(t)
	at := func(uid uint32) store.Position {
		return store.Position{Source: "a", UIDValidity: 1, UID: uid, Received: now}
	}
	err := s.update(func(tx *queue.Tx) error {
		for _, uid := range []uint32{2, 3, 1} {
			tx.Position(at(uid), now)
		}
		return nil
	})
	if lines := s.lines(); err != nil || len(lines) != 1 || !slices.Equal(lines[0].Positions, []store.Position{at(3)}) {
		t.Errorf("%+v, %v", lines, err)
	}
}

// TestPositionsInTheLastLine: they are in the last line that is staged, all of them.
func TestPositionsInTheLastLine(t *testing.T) {
	s := newShelf(t)
	a, b := store.Position{Source: "a", UID: 1, Received: now}, store.Position{Source: "b", UID: 2, Received: now}
	err := s.update(func(tx *queue.Tx) error {
		tx.Position(a, now)
		tx.Position(b, now)
		return errors.Join(tx.Add(file(1)), tx.Add(file(2)))
	})
	lines := s.lines()
	if err != nil || len(lines) != 2 || len(lines[0].Positions) > 0 || !slices.Equal(lines[1].Positions, []store.Position{a, b}) {
		t.Errorf("%v, %+v", err, lines)
	}
	s.failOn("Get")
	if err := s.update(func(tx *queue.Tx) error { tx.Position(a, now); return nil }); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

// refuse stages a rejection of which nothing is kept.
func refuse(tx *queue.Tx, line audit.Line) error {
	_, err := tx.Refuse(line, nil)
	return err
}
