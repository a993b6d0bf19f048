package spool

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/disk/disktest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// The accounts of the crash tests: who answers, and who does everything else. After a
// crash either of them may come next.
const (
	owner    = 3
	approver = 7
)

// accountOf returns the account that runs an operation.
func accountOf(op operation) int {
	switch op.Name {
	case "approve", "approve an effect", "agree", "correct an effect", "requeue", "grant", "session":
		return approver
	}
	return owner
}

// ofAnswers reports whether an operation does something else in a queue that has
// approvers: it carries lines with a yes out, or with the end of one.
func ofAnswers(op *operation) bool {
	return accountOf(*op) == approver || strings.HasPrefix(op.Name, "start "+string(terms.ExternalSend)) ||
		slices.Contains([]string{"finish 75", "finish 1", "reap and expire", "consume", "cancel", "prune", "deny", "end session"}, op.Name)
}

// forged fails if a yes is held by an account that never gave one, or what is held is not
// what he wrote.
func forged(d *disktest.FS) (err error) {
	d.Each(func(name string, owner int) {
		if owner != 0 && owner != approver {
			err = fmt.Errorf("%s is held by %d", name, owner)
		}
		if dir, _, _ := strings.Cut(name, "/"); owner != 0 && dir != approvalDir && dir != grantDir && dir != sessionDir && dir != tmpDir {
			err = fmt.Errorf("%s is held by %d, and anybody's", name, owner)
		}
	})
	return err
}

// holders returns who holds the approvals of the scheduled tasks, by number of tasks.
func holders(t *testing.T, d *disktest.FS) map[approval.Holder]int {
	t.Helper()
	count := map[approval.Holder]int{}
	err := spoolOn(d).View(func(v store.View) error {
		return v.Each(store.On(task.Scheduled), func(id string, _ time.Time) (bool, error) {
			a, err := queue.ApprovalOf(v, id)
			if a != nil {
				count[a.Holder]++
			}
			return true, err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// TestHolder: an approval is its giver's until it is spent, and again once it turns
// out that nothing happened; in a queue without approvers it has no owner.
func TestHolder(t *testing.T) {
	for _, shared := range []bool{true, false} {
		w := newWorld(t, true, shared)
		for i, c := range []struct {
			op   operation
			want map[approval.Holder]int
		}{
			{add(effect(1)), nil},
			{approve, map[approval.Holder]int{approval.HeldBy(approver): 1}},
			{nothing, map[approval.Holder]int{approval.HeldBy(approver): 1}},
			{start(terms.ExternalSend), nil},
			{finish(queue.End{Exit: 75}), map[approval.Holder]int{approval.HeldBy(approver): 1}},
			{start(terms.ExternalSend), nil},
			{finish(queue.End{Exit: 75}), map[approval.Holder]int{approval.HeldBy(approver): 1}},
			{start(terms.ExternalSend), nil},
			{finish(queue.End{Exit: 1}), nil},
		} {
			w = w.after(t, c.op)
			want := c.want
			if !shared && want != nil {
				want = map[approval.Holder]int{"": 1}
			}
			if got := holders(t, w.disk()); fmt.Sprint(got) != fmt.Sprint(want) && len(got)+len(want) > 0 {
				t.Errorf("shared %v, %d %s: %v, want %v", shared, i, c.op.Name, got, want)
			}
			if err := sound(spoolOn(w.disk())); err != nil {
				t.Errorf("shared %v, %d %s: %v", shared, i, c.op.Name, err)
			}
		}
		w.disk().Each(func(name string, _ int) {
			if strings.HasPrefix(name, approvalDir+"/") {
				t.Errorf("%s was left", name)
			}
		})
	}
}

// TestRedoneHasNoOwner: anyone who can write the log can have others carry out what it
// says. That does not make it a yes of theirs.
func TestRedoneHasNoOwner(t *testing.T) {
	for _, next := range []int{owner, approver} {
		w := newWorld(t, true, true)
		w = w.after(t, add(effect(1)))
		d := w.disk().Clone()
		d.Account, d.Ops = owner, 0
		d.Fault = func(int) disktest.Fate { return disktest.Fate{Die: logged(d, `"approved"`)} }
		if err := attempt(approve, spoolOn(d), w.Now); err != disktest.ErrKilled {
			t.Fatal(err)
		}
		d.Fault, d.Account = nil, next
		if err := nothing.Do(spoolOn(d), w.Now); err != nil {
			t.Fatal(err)
		}
		if got := holders(t, d); got[""] != 1 || len(got) != 1 {
			t.Errorf("%d came next: %v", next, got)
		}
	}
}

func logged(d *disktest.FS, text string) bool {
	b, err := d.Read("audit/2026-11.jsonl")
	return err == nil && strings.Contains(string(b), text)
}
