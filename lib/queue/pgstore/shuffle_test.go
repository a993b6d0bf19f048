package pgstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
)

// shuffle makes commits of lines that are legal by what is known of a world, or nearly.
type shuffle struct {
	*world
	*rand.Rand
	names  []string
	states map[string]task.State
}

// look finds out where the tasks of the world stand, and what runs.
func (s *shuffle) look() {
	byID := map[string]string{}
	for n, t := range s.tasks {
		byID[t.id] = n
	}
	clear(s.states)
	for _, l := range ask(s.tb, s.c, "SELECT id || ' ' || state FROM pulse.task") {
		id, st, _ := strings.Cut(l, " ")
		s.states[byID[id]] = task.State(st)
	}
	for _, l := range ask(s.tb, s.c, "SELECT task || ' ' || fence FROM pulse.run") {
		id, fence, _ := strings.Cut(l, " ")
		s.fences[id], _ = strconv.ParseInt(fence, 10, 64)
	}
}

// steps returns a line about some task, or several that belong together.
func (s *shuffle) steps() []step {
	n := s.names[s.IntN(len(s.names))]
	switch s.IntN(20) {
	case 0:
		return []step{s.labelled(n, []label.Label{label.Private, label.Untrusted}[:1+s.IntN(2)]...)}
	case 1:
		return []step{s.resurfaced(n, s.states[n])}
	case 2:
		return s.bought(n, []string{bob}, []string{"g.bob", "g.any", "g.chain", "g.this", "g.all"}[s.IntN(5)])
	case 3:
		l := s.note(n, []task.Event{audit.Released, audit.Ended, audit.Settled, audit.Noted, audit.ClockJumped}[s.IntN(5)])
		if l.Event == audit.ClockJumped {
			l.Time = s.now.Add(-2 * time.Hour)
		}
		if l.Event == audit.Settled {
			l.Parent = idOf(s.names[s.IntN(len(s.names))])
		}
		return []step{l}
	case 4:
		return []step{s.refused([]string{"r.one", "r.new"}[s.IntN(2)])}
	case 5:
		return []step{s.of(n, task.Added, "", []task.State{task.Scheduled, task.Awaiting}[s.IntN(2)])}
	case 6:
		return []step{s.session([]task.Event{audit.SessionUsed, audit.SessionOpened, audit.SessionEnded}[s.IntN(3)], "s.one", s.IntN(4))}
	}
	return s.move(n)
}

// move returns the line of a transition that a task may make.
func (s *shuffle) move(name string) []step {
	from := s.states[name]
	for range 100 {
		e, to := task.Events[s.IntN(len(task.Events))], append(task.States, "")[s.IntN(len(task.States)+1)]
		if e == task.Added || e == task.Broke || e == task.Learned || task.Legal(e, from, to) != nil {
			continue
		}
		s.states[name] = to
		l := s.of(name, e, from, to)
		switch {
		case e == task.Started:
			return []step{s.start(name)}
		case e == task.Approved || e == task.Requeued:
			l = s.yes(name, e, from, []approval.Level{approval.Terminal, approval.Signature}[s.IntN(2)], bob)
			l.Approval.Nonce += fmt.Sprint(s.IntN(3))
			return []step{l}
		case e == task.Finished && s.IntN(2) == 0:
			return []step{proposing(l, s.names[s.IntN(len(s.names))])}
		case e == task.Carried, e == task.Extracted:
			return []step{result(l, map[task.Event]store.Shelf{task.Carried: store.Drafts, task.Extracted: store.Extracts}[e])}
		case from == task.Running && s.IntN(3) == 0 && e != task.Cancelled && e != task.Finished:
			l = result(l, store.Results)
		}
		if e == task.Restored || s.IntN(3) == 0 {
			l.Approval = s.yeses[name]
		}
		return []step{l}
	}
	return nil
}

// TestShuffled: whatever happens, in whatever order, the tables are as the log says.
func TestShuffled(t *testing.T) {
	w, d := base(t)
	seed := seeded(t)
	s := &shuffle{w, rand.New(rand.NewPCG(seed, 1)), nil, map[string]task.State{}}
	for n := range w.tasks {
		s.names = append(s.names, n)
	}
	slices.Sort(s.names)
	accepted, tries := 0, 600
	if testing.Short() {
		tries = 150
	}
	for range tries {
		s.look()
		c := by([]string{"gate1", "runner1", "sender1", "ann", "machine1", "all1", "all1"}[s.IntN(7)])
		for range 1 + s.IntN(4) {
			c.steps = append(c.steps, s.steps()...)
		}
		if s.IntN(2) == 0 {
			s.Shuffle(len(c.steps), func(i, j int) { c.steps[i], c.steps[j] = c.steps[j], c.steps[i] })
		}
		if _, err := w.try(c); err != nil {
			continue
		}
		if err := w.commit(&c); err != nil {
			t.Fatal(err)
		}
		accepted++
	}
	if err := w.exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	report, err := open(t, d.DSN("machine1")).Verify("")
	if err != nil || len(report.Findings) > 0 || accepted < tries/20 {
		t.Errorf("seed %d: %d of %d were accepted: %v, %+v", seed, accepted, tries, err, report)
	}
}
