package queue_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
)

// told returns a task of which a person was told once more so long ago.
func told(s *queue.Stored, ago time.Duration) *queue.Stored {
	s.Task.Told = now.Add(-ago)
	return s
}

// TestExpire: what has waited for a person so long, and was told, is rejected, what can't
// be read is left, and many are taken in turns.
func TestExpire(t *testing.T) {
	const limit = time.Hour
	limits := &policy.Limits{ReviewExpires: limit, Resurface: 10 * time.Minute} // 5 minutes for an answer
	list := []*queue.Stored{
		told(stored(1, task.Awaiting, 9*time.Hour, limit), limit/2),
		told(stored(2, task.Awaiting, 9*time.Hour, limit-1*time.Second), limit/2),
		told(stored(3, task.Scheduled, 9*time.Hour, 9*time.Hour), limit/2),
		told(stored(4, task.Awaiting, 9*time.Hour, 2*limit), limit),
		told(stored(5, task.Awaiting, 9*time.Hour, 2*limit), limit),
		told(stored(6, task.Awaiting, 9*time.Hour, 2*limit), 5*time.Minute),
		told(stored(7, task.Awaiting, 9*time.Hour, 2*limit), 5*time.Minute-time.Second),
		stored(8, task.Awaiting, 9*time.Hour, 8*time.Hour),
	}
	list[0].Task.Attempts = 2
	s := newShelf(t, list...)
	s.Lay(store.On(task.Awaiting), list[3].Task.ID, store.Item{Bytes: []byte("{")})
	s.Lay(store.On(task.Awaiting), list[4].Task.ID, store.Item{})
	expire := func() (more bool, err error) {
		err = s.update(func(tx *queue.Tx) error {
			more, err = queue.Expire(tx, limits, now)
			return err
		})
		return more, err
	}
	if more, err := expire(); more || err != nil {
		t.Error(more, err)
	}
	lines := s.lines()
	if len(lines) != 2 || lines[0].Task != list[0].Task.ID || lines[1].Task != list[5].Task.ID {
		t.Fatalf("%+v", lines)
	}
	if l := lines[0]; l.Event != task.Expired || l.To != task.Rejected || l.Change != (task.Change{Since: now, Attempts: 2, Reason: "review_expired"}) {
		t.Errorf("%+v", l)
	}

	list = nil
	for i := range queue.MaxMoves + 1 {
		list = append(list, told(stored(i, task.Awaiting, 9*time.Hour, 9*time.Hour), limit))
	}
	s = newShelf(t, list...)
	s.failOn("Get")
	if _, err := expire(); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	s.Fail = nil
	for want := queue.MaxMoves; want <= queue.MaxMoves+1; want++ {
		if more, err := expire(); more != (want == queue.MaxMoves) || err != nil || len(s.lines()) != want {
			t.Errorf("%t, %v, %d", more, err, len(s.lines()))
		}
	}
}

// TestReap: what ran under a runner that died comes back, except what it can't be known
// of; and what still runs is left alone.
func TestReap(t *testing.T) {
	ask := func(restarts int) *queue.Stored {
		s := stored(1, task.Running, time.Hour, time.Hour)
		s.Task.Attempts, s.Task.Restarts = 1, restarts
		return s
	}
	max := policy.Default().Limits.MaxRestarts
	bad := store.Item{Bytes: []byte("{")}
	for name, c := range map[string]struct {
		s     *queue.Stored
		alive bool
		lay   func(s *shelf, id string)
		event task.Event // "": none
		why   string
		yes   bool // it comes back with its approval
	}{
		"an ask":            {ask(0), false, nil, task.Restarted, queue.ReasonDied, false},
		"the last time":     {ask(max), false, nil, task.GaveUp, queue.ReasonDied, false},
		"one time before":   {ask(max - 1), false, nil, task.Restarted, queue.ReasonDied, false},
		"it still runs":     {ask(0), true, nil, "", "", false},
		"an effect":         {outward(ask(0)), false, nil, task.Undecided, queue.ReasonUnknownEffect, false},
		"gone":              {ask(0), false, func(s *shelf, id string) { s.Lay(store.On(task.Running), id, store.Item{}) }, "", "", false},
		"not readable":      {ask(0), false, func(s *shelf, id string) { s.Lay(store.On(task.Running), id, bad) }, task.Broke, "corrupt", false},
		"meta not readable": {ask(0), false, func(s *shelf, id string) { s.Lay(store.Meta, id, bad) }, task.Broke, "corrupt", false},
		"edited": {ask(0), false, func(s *shelf, id string) {
			s.Lay(store.On(task.Running), id, store.Item{Bytes: append(s.find(id).File, '\n')})
		}, task.Broke, "edited", false},
		"with an approval": {ask(0), false, func(s *shelf, id string) { a := yes(); a.Task = id; s.answer(id, a) }, task.Restarted, queue.ReasonDied, true},
		"with no approval": {ask(0), false, func(s *shelf, id string) { s.Lay(store.Approvals, id, bad) }, task.Restarted, queue.ReasonDied, false},
		"with a spent one": {outward(ask(0)), false, func(s *shelf, id string) {
			a := yes()
			a.Task = id
			s.Lay(store.Spent, id, store.Item{Bytes: a.Append(nil)})
		}, task.Undecided, queue.ReasonUnknownEffect, false},
		"an effect not read": {outward(ask(0)), false, func(s *shelf, id string) { s.Lay(store.On(task.Running), id, bad) }, task.Broke, "corrupt", false},
	} {
		s := newShelf(t, c.s)
		if c.lay != nil {
			c.lay(s, c.s.Task.ID)
		}
		reap := func() (more bool, err error) {
			err = s.update(func(tx *queue.Tx) error {
				more, err = queue.Reap(tx, &policy.Default().Limits, now, func(id string) bool { return !c.alive && id == c.s.Task.ID })
				return err
			})
			return more, err
		}
		for n := 0; ; n++ {
			broke := s.failAt(n)
			more, err := reap()
			if s.Fail = nil; !*broke {
				if more || err != nil {
					t.Errorf("%s: %t, %v", name, more, err)
				}
				break
			}
			if !errors.Is(err, errBroken) || len(s.lines()) > 0 {
				t.Errorf("%s, when step %d fails: %v, %+v", name, n, err, s.lines())
			}
		}
		lines := s.lines()
		if c.event == "" {
			if len(lines) > 0 {
				t.Errorf("%s: %+v", name, lines)
			}
			continue
		}
		if c.event != task.Broke { // what its hook allowed is not known
			if len(lines) != 2 || lines[1].Event != audit.Labelled || lines[1].Task != c.s.Root() || len(lines[1].Labels) != len(label.All) {
				t.Errorf("%s: %+v", name, lines)
				continue
			}
			lines = lines[:1]
		}
		if len(lines) != 1 || lines[0].Event != c.event || lines[0].Change.Reason != c.why || (lines[0].Approval != nil) != c.yes {
			t.Errorf("%s: %+v", name, lines)
		} else if l := lines[0]; c.event != task.Broke && (l.Change.Restarts != c.s.Task.Restarts+1 || l.Change.Attempts != 1) {
			t.Errorf("%s: %+v", name, l.Change)
		}
	}
}

// TestFinish: what the end of a worker makes of an ask and of an effect, with its
// approval and what was printed.
func TestFinish(t *testing.T) {
	limits := &policy.Default().Limits
	ask := func(attempts int) *queue.Stored {
		s := stored(1, task.Running, time.Hour, time.Hour)
		s.Task.Attempts, s.Task.Restarts = attempts, 1
		return s
	}
	waited := func(s *queue.Stored, deferred int) *queue.Stored {
		s.Task.Deferred = deferred
		return s
	}
	last := limits.MaxAttempts - 1
	for name, c := range map[string]struct {
		s     *queue.Stored
		exit  int
		event task.Event
		yes   bool // the approval is there again
		wait  time.Duration
	}{
		"an ask is done":             {ask(0), 0, task.Finished, false, 0},
		"an ask fails":               {ask(0), 1, task.Retried, true, 15 * time.Minute},
		"an ask fails again":         {ask(1), 1, task.Retried, true, 12 * time.Hour},
		"an ask fails for good":      {ask(last), 1, task.GaveUp, false, 0},
		"an ask is killed":           {ask(0), -1, task.Retried, true, 15 * time.Minute},
		"an ask wants to wait":       {ask(0), 75, task.Retried, true, time.Minute},
		"an ask wants to wait again": {waited(ask(9), 9), 75, task.Retried, true, time.Hour},
		"an ask waited, and fails":   {waited(ask(9), 9), 1, task.Retried, true, 15 * time.Minute},
		"an ask failed, and waits":   {ask(last), 75, task.Retried, true, time.Minute},
		"an effect is done":          {outward(ask(0)), 0, task.Finished, false, 0},
		"an effect fails":            {outward(ask(0)), 1, task.Undecided, false, 0},
		"an effect is killed":        {outward(ask(0)), -1, task.Undecided, false, 0},
		"an effect did not happen":   {outward(ask(0)), 75, task.Restored, true, time.Minute},
		"an effect will not happen":  {outward(ask(0)), 69, task.GaveUp, false, 0},
		"an effect is not for this":  {outward(ask(0)), 64, task.GaveUp, false, 0},
	} {
		for _, out := range []string{"", "printed\n"} {
			s := newShelf(t, c.s)
			s.Lay(store.Results, c.s.Task.ID, store.Item{Bytes: []byte("of the worker before")})
			a := yes()
			a.Task = c.s.Task.ID
			var end audit.Line
			err := s.update(func(tx *queue.Tx) (err error) {
				end, err = queue.Finish(tx, &queue.Claim{Stored: *c.s, Approval: a}, queue.End{Exit: c.exit, Result: []byte(out)}, limits, now)
				return err
			})
			lines := s.lines()
			if err != nil || len(lines) != 1 || lines[0].Event != c.event || end.Event != c.event || (lines[0].Approval != nil) != c.yes {
				t.Errorf("%s: %v, %+v", name, err, lines)
				continue
			}
			want := task.Change{
				Since: now, Attempts: c.s.Task.Attempts + 1, Deferred: c.s.Task.Deferred, Restarts: 1, Reason: end.Change.Reason,
			}
			if c.exit == 75 {
				want.Deferred++
			}
			if c.wait > 0 {
				want.NotBefore = now.Add(c.wait)
			}
			if is := s.find(c.s.Task.ID).Task; is.Change != want || is.State != end.To || is.Reason == "" {
				t.Errorf("%s: %+v, want %+v", name, is.Change, want)
			}
			s.view(func(v store.View) error {
				printed, err := queue.ResultOf(v, c.s.Task.ID)
				if string(printed) != out {
					t.Errorf("%s: %q is what it printed, want %q", name, printed, out)
				}
				return err
			})
			said := queue.Complaint(&end)
			if end.Change.Reason == queue.ReasonNotDone {
				if want := "failed: its sender says that it did not happen"; !strings.HasSuffix(said, want) {
					t.Errorf("%s: %q", name, said)
				}
			} else if hint := map[task.Event]string{task.GaveUp: "failed: worker_failed after", task.Undecided: "it awaits a person"}[c.event]; hint != "" && !strings.Contains(said, hint) {
				t.Errorf("%s: %q", name, said)
			} else if c.wait > 0 && !strings.HasSuffix(said, "again at "+now.Add(c.wait).Format(time.RFC3339)) {
				t.Errorf("%s: %q", name, said)
			}
		}
	}
}

// TestFinishFails: if a step fails, nothing is finished; and a task that is not running
// any more, because a person cancelled it, is not finished.
func TestFinishFails(t *testing.T) {
	one := stored(1, task.Running, time.Hour, time.Hour)
	list, discarded := proposal.Read([]byte(`{"action":"external_send","target":"bob@x.example"}`+"\nno proposal\n"), false, nil)
	end := queue.End{Result: []byte("x"), Proposals: &queue.Proposals{List: list, Discarded: discarded}}
	finish := func(s *shelf) error {
		return s.update(func(tx *queue.Tx) error {
			_, err := queue.Finish(tx, &queue.Claim{Stored: *one}, end, &policy.Default().Limits, now)
			return err
		})
	}
	s := newShelf(t, one)
	n := 0
	for ; ; n++ {
		broke := s.failAt(n)
		if err := finish(s); !*broke {
			if err != nil {
				t.Error(err)
			}
			break
		} else if !errors.Is(err, errBroken) || len(s.lines()) > 0 {
			t.Errorf("step %d: %v, %+v", n, err, s.lines())
		}
	}
	if want := []task.Event{task.Finished, audit.Discarded}; n < 4 || !slices.Equal(s.events(), want) {
		t.Errorf("%d steps, %v", n, s.events())
	}
	s = newShelf(t, one)
	if _, err := cancel(s, one.Task.ID); err != nil {
		t.Fatal(err)
	}
	if err := finish(s); !errors.Is(err, store.ErrConflict) || s.find(one.Task.ID).Task.State != task.Rejected {
		t.Error(err)
	}
}

// TestOutboxOfTwoRuns: what a run before proposed and add has not taken yet stays, unless it
// can't be read.
func TestOutboxOfTwoRuns(t *testing.T) {
	before := `{"task":{"id":"` + two + `","kind":"effect"}}` + "\n"
	for lies, want := range map[string]int{"": 1, before: 2, "{": 1, before[:20]: 1, before + "x": 1} {
		one := stored(1, task.Running, time.Hour, time.Hour)
		s := newShelf(t, one)
		if lies != "" {
			s.Lay(store.Outbox, one.Task.ID, store.Item{Bytes: []byte(lies)})
		}
		list, discarded := proposal.Read([]byte(`{"action":"read_public"}`), false, nil)
		var end audit.Line
		err := s.update(func(tx *queue.Tx) (err error) {
			end, err = queue.Finish(tx, &queue.Claim{Stored: *one}, queue.End{Proposals: &queue.Proposals{List: list, Discarded: discarded}}, &policy.Default().Limits, now)
			return err
		})
		if err != nil || len(end.Proposed) != want || want == 2 && end.Proposed[0].ID != two {
			t.Errorf("%q: %v, %+v", lies, err, end.Proposed)
		}
		s.view(func(v store.View) error {
			file, err := queue.OutboxOf(v, one.Task.ID)
			if listed, _ := store.ReadOutbox(file); !slices.Equal(listed, end.Proposed) {
				t.Errorf("%q: %s", lies, file)
			}
			return err
		})
	}
}

// FuzzOutbox: an outbox that can be read is its lines, and taking one out leaves the
// others as they were.
func FuzzOutbox(f *testing.F) {
	line := func(id string) string { return `{"task":{"id":"` + id + `"}}` + "\n" }
	f.Add([]byte(line(one) + line(two)))
	f.Add([]byte(line(one) + line(one)))
	f.Add([]byte(line("x") + line(two)))
	f.Add([]byte(line(one)[:40]))
	f.Fuzz(func(t *testing.T, file []byte) {
		list, err := store.ReadOutbox(file)
		if err != nil {
			if !errors.Is(err, store.ErrOutbox) {
				t.Error(err)
			}
			return
		}
		for _, p := range list {
			rest, had, err := store.Without(file, p.ID)
			if err != nil || !had {
				t.Fatalf("%s is not in it: %v", p.ID, err)
			}
			left, err := store.ReadOutbox(rest)
			want := slices.DeleteFunc(slices.Clone(list), func(other audit.Proposed) bool { return other.ID == p.ID })
			if err != nil || !slices.Equal(left, want) {
				t.Errorf("%v without %s is %v, %v", list, p.ID, left, err)
			}
		}
		if rest, had, err := store.Without(file, "none"); had || err != nil || string(rest) != string(file) {
			t.Errorf("%q, %t, %v", rest, had, err)
		}
	})
}
