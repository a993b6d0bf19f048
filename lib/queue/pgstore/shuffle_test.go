package pgstore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
)

func TestShuffled(t *testing.T) {
	w, d := base(t)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	names := []string{}
	for n := range w.tasks {
		names = append(names, n)
	}
	slices.Sort(names)
	pick := func() string { return names[r.IntN(len(names))] }
	logins := []string{"gate1", "runner1", "sender1", "ann", "machine1", "machine2", "all1", "all1", "machine1"}
	grants := []string{"g.bob", "g.bob2", "g.eve", "g.any", "g.chain", "g.this", "g.other", "g.d", "g.none", "g.all"}
	states := append([]task.State{""}, task.States...)
	where := map[string]task.State{}
	look := func() {
		clear(where)
		for _, l := range ask(t, w.c, "SELECT id || ' ' || state FROM pulse.task") {
			id, st, _ := strings.Cut(l, " ")
			for n, k := range w.tasks {
				if k.id == id {
					where[n] = task.State(st)
				}
			}
		}
		for _, l := range ask(t, w.c, "SELECT task || ' ' || fence FROM pulse.run") {
			id, f, _ := strings.Cut(l, " ")
			n, _ := strconv.ParseInt(f, 10, 64)
			w.fences[id] = n
		}
	}
	who := ""
	random := func() []step {
		n := pick()
		if r.IntN(3) == 0 {
			for _, k := range names[r.IntN(len(names)):] {
				if where[k] == task.Scheduled {
					return []step{w.start(k)}
				}
				if where[k] == task.Running && r.IntN(2) == 0 {
					s := w.ends(k, []task.Event{task.Restored, task.Retried, task.Extracted, task.Restarted, task.Undecided, task.Parked, task.Cancelled}[r.IntN(7)], task.Scheduled)
					if s.Event == task.Undecided || s.Event == task.Parked {
						s.To = task.Awaiting
					}
					if s.Event == task.Cancelled {
						s.To = task.Rejected
					}
					if r.IntN(2) == 0 {
						s.Approval = w.yeses[k]
					}
					if r.IntN(3) == 0 {
						s = result(s, queue.Results)
					}
					where[k] = s.To
					return []step{s}
				}
			}
		}
		switch r.IntN(28) {
		case 26, 27:
			ss := []string{"s.one", "s.two", "s.new"}[r.IntN(3)]
			return []step{w.session([]task.Event{audit.SessionUsed, audit.SessionOpened, audit.SessionEnded}[r.IntN(3)], ss, r.IntN(4))}
		case 0:
			return []step{w.start(n)}
		case 1:
			return []step{w.labelled(n, []label.Label{label.Private, label.Untrusted}[:1+r.IntN(2)]...)}
		case 2:
			return []step{w.resurfaced(n, where[n])}
		case 3:
			s := w.yes(n, []task.Event{task.Approved, task.Requeued}[r.IntN(2)], states[r.IntN(len(states))], approval.Terminal, bob)
			return []step{s}
		case 4:
			return w.bought(n, []string{bob}, grants[r.IntN(len(grants))])
		case 5:
			s := w.note(n, []task.Event{audit.Held, audit.Released, audit.Ended, audit.Settled, audit.Noted, audit.Forgotten, audit.ClockBack}[r.IntN(7)])
			if s.Event == audit.Settled {
				s.Parent = idOf(pick())
			}
			if s.Event == audit.Forgotten {
				s.Task = idOf("r.one")
				s.Size = w.refused("r.one").Size
			}
			return []step{s}
		case 6:
			return []step{w.refused([]string{"r.one", "r.two", "r.new"}[r.IntN(3)])}
		case 7:
			return []step{w.read(uint32(r.IntN(10)))}
		case 8:
			return []step{w.of(n, task.Added, "", []task.State{task.Scheduled, task.Awaiting}[r.IntN(2)])}
		case 9:
			return []step{proposing(w.ends(n, task.Finished, task.Completed), pick(), pick())}
		case 10:
			s := w.ends(n, task.Restored, task.Scheduled)
			s.Approval = w.yeses[n]
			return []step{s}
		case 11:
			s := result(w.ends(n, task.Retried, task.Scheduled), queue.Results)
			return []step{s}
		}
		// a legal move
		for {
			e := task.Events[r.IntN(len(task.Events))]
			from, to := where[n], states[r.IntN(len(states))]
			if from == task.Corrupt || from == "" {
				return nil
			}
			if e == task.Broke && r.IntN(20) > 0 || !slices.ContainsFunc(strings.Fields(hats[who]), func(h string) bool { return contains(writes[string(e)], h) }) {
				if r.IntN(20) == 0 {
					return nil
				}
				continue
			}
			if e != task.Added && e != task.Refused && task.Legal(e, from, to) == nil {
				s := w.of(n, e, from, to)
				where[n] = to
				if e == task.Approved || e == task.Requeued {
					y := w.yes(n, e, from, []approval.Level{approval.Terminal, approval.Signature}[r.IntN(2)], bob)
					y.Approval.Nonce += fmt.Sprint(r.IntN(3))
					return []step{y}
				}
				if e == task.Started {
					return []step{w.start(n)}
				}
				if e == task.Undecided {
					s.Change.Reason = queue.ReasonUnknownEffect
				}
				if r.IntN(3) == 0 {
					s.reap = true
				}
				if r.IntN(3) == 0 {
					s.Approval = w.yeses[n]
				}
				if e == task.Carried || e == task.Extracted {
					s = result(s, map[task.Event]queue.Shelf{task.Carried: queue.Drafts, task.Extracted: queue.Extracts}[e])
				}
				return []step{s}
			}
		}
	}
	end := time.Now().Add(12 * time.Second)
	accepted, tried := map[string]int{}, 0
	for time.Now().Before(end) {
		var steps []step
		look()
		who = logins[r.IntN(len(logins))]
		for range 1 + r.IntN(5) {
			steps = append(steps, random()...)
		}
		if r.IntN(2) == 0 {
			r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		}
		for i := range steps {
			if steps[i].Event == audit.Held {
				steps[i].Event = audit.Noted
			}
		}
		c := by(who, steps...)
		tried++
		if _, err := w.try(c); err != nil {
			if len(steps) > 1 && r.IntN(2) == 0 { // drop one
				c.steps = steps[:len(steps)-1]
				if _, err := w.try(c); err != nil {
					continue
				}
			} else {
				continue
			}
		}
		if err := w.commit(&c); err != nil {
			t.Fatal(err)
		}
		for _, s := range c.steps {
			accepted[string(s.Event)]++
		}
		accepted["commits"]++
	}
	t.Log(tried, accepted)
	if err := w.exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	report, err := open(t, d.DSN("machine1")).Verify("")
	if err != nil || report.Broken {
		t.Fatalf("seed %d: %v, %v", seed, err, report)
	}
	for _, f := range report.Findings {
		t.Errorf("seed %d: %s", seed, f)
	}
	_ = os.Stdout
	_ = strings.ToLower
}
