package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

const standing = `{"request":{"action":"read_public","args":{"text":"the house","standing":%q}},` +
	`"identity":{"sender":"uid:1000","trust":"system","verified":true,"stale":false,"automatic":false,"reason":"local_submit","why":"w","via":"submit"}}`

// stand has the agent of a standing ask propose. It returns how many of that were made and how many
// were discarded, and no ask if none was started.
func (d *desk) stand(name string, out ...string) (ask string, made, discarded int) {
	d.t.Helper()
	run := queue.Run{Policy: d.p, Standing: name, Max: 10, Now: func() time.Time { return d.now }}
	var claim *queue.Claim
	d.update(func(tx *queue.Tx) (err error) {
		claim, _, err = run.Next(tx, func(string) error { return nil })
		return err
	})
	if claim == nil {
		return "", 0, 0
	}
	p := &queue.Proposals{}
	p.List, p.Discarded = proposal.Read([]byte(strings.Join(out, "\n")), false, nil)
	d.update(func(tx *queue.Tx) error {
		_, err := queue.Finish(tx, claim, queue.End{Proposals: p, Unread: true}, &d.p.Limits, d.now)
		return err
	})
	return claim.Task.ID, len(p.Made), p.Discarded[proposal.OverBudget]
}

func reads(from, to int) (list []string) {
	for i := range to - from {
		list = append(list, fmt.Sprintf(`{"action":"read_public","args":{"q":"%d"}}`, from+i))
	}
	return list
}

// TestStandingBudget: a standing ask has a hundred effects a day, those that nobody has taken
// included, and what it proposes proposes nothing.
func TestStandingBudget(t *testing.T) {
	d := newDesk(t)
	d.p.Limits.MaxPerDay, d.p.Limits.PerSenderPerHour = 1000, 1000
	other, _ := d.add(fmt.Sprintf(standing, "other"))
	id, st := d.add(fmt.Sprintf(standing, "home"))
	if s := d.find(id); st != task.Scheduled || s.Standing() != "home" || !s.Task.NotBefore.Equal(store.Forever) {
		t.Fatalf("%s, %+v", st, s.Task)
	}
	run := queue.Run{Policy: d.p, Max: 10, Now: func() time.Time { return d.now }}
	d.update(func(tx *queue.Tx) error {
		claim, _, err := run.Next(tx, func(string) error { return nil })
		if claim != nil {
			t.Error("a run starts it")
		}
		return err
	})
	propose := func(from, to, want, over int) {
		t.Helper()
		if ask, made, discarded := d.stand("home", reads(from, to)...); ask != id || made != want || discarded != over {
			t.Fatalf("%s: %d and %d over the budget, want %d and %d", ask, made, discarded, want, over)
		}
	}
	propose(0, 60, 60, 0)
	propose(60, 120, 40, 20) // the first ones lie in the outbox
	effects, _ := d.take()
	propose(200, 201, 0, 1) // and now in the queue
	for _, one := range effects {
		if s := d.find(one); s.Identity.Budget != 0 || s.Identity.Root != id || len(s.Labels) != 2 {
			t.Fatalf("%+v", s.Identity)
		}
	}
	d.now = d.now.Add(25 * time.Hour)
	propose(200, 201, 1, 0)
	if s := d.find(other); s.Task.State != task.Scheduled || len(s.Labels) > 0 {
		t.Errorf("%+v", s.Task)
	}
	if s := d.find(id); s.Task.Attempts != 0 || s.Task.Reason != queue.ReasonStands || !s.Task.NotBefore.Equal(store.Forever) {
		t.Errorf("%+v", s.Task)
	}
}

// TestStandingStops: it gets its sender's starts of an hour, and half of a day's; and none once it
// is cancelled or the policy does not allow it.
func TestStandingStops(t *testing.T) {
	d := newDesk(t)
	d.p.Limits.MaxPerDay, d.p.Limits.PerSenderPerHour = 8, 3
	id, _ := d.add(fmt.Sprintf(standing, "home"))
	starts := func(want bool) {
		t.Helper()
		if ask, _, _ := d.stand("home", reads(0, 1)...); (ask == id) != want {
			t.Fatalf("%q, want %t", ask, want)
		}
	}
	for range 3 {
		starts(true)
	}
	starts(false)
	d.now = d.now.Add(time.Hour)
	starts(true)
	starts(false) // four of eight
	d.now = d.now.Add(25 * time.Hour)
	starts(true)
	d.p.Matrix[terms.System] = policy.Row{}
	starts(false)
	if s := d.find(id); s.Task.State != task.Rejected {
		t.Errorf("%+v", s.Task)
	}
}
