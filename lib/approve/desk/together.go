package desk

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
)

// Holder tells whose account or login a name is; empty: there is none.
type Holder = func(name string) approval.Holder

// Holders returns what tells whose account or login a name is. It looks names up in the files of
// this machine before a command gives up to read these, and others only if it still may.
func Holders(k door.Keeper) (Holder, error) {
	if l := k.Server; l != nil {
		return l.Holder, nil
	}
	accounts, err := LocalAccounts()
	return func(name string) approval.Holder {
		if uid, known := accounts.uid[name]; known {
			return approval.HeldBy(uid)
		}
		u, err := user.Lookup(name)
		if err != nil {
			return ""
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			return ""
		}
		return approval.HeldBy(uid)
	}, err
}

// holder returns the account or login of whoever says yes here, as a run finds it later.
func holder(k door.Keeper) approval.Holder {
	if l := k.Server; l != nil {
		return l.Me()
	}
	if k.Dir != nil && k.Dir.Shared() {
		return approval.HeldBy(os.Geteuid())
	}
	return ""
}

// run is what judges a yes where it is given: signatures are proven when the task starts.
func (d *Desk) run() *queue.Run {
	r := &queue.Run{Policy: d.Policy, Blind: true, Holder: d.holders}
	if d.pen != nil {
		r.Signed = &signed{ctx: d.Context(), signers: d.pen.signers}
	}
	return r
}

// wants says whose yes a task waits for, where not everyone's counts or one is not enough.
func (d *Desk) wants(v store.View, s *queue.Stored, now time.Time) (string, error) {
	if s.Task.State != task.Awaiting {
		return "", nil
	}
	return d.run().Wants(v, s, now)
}

// Note says what came of the yeses to tasks that were given here: which run starts them, or what they
// still wait for.
func (d *Desk) Note(ids ...string) error {
	var said []string
	for _, id := range ids {
		if left := d.left[id]; left != "" {
			cmdline.Note(d.c, "task %s is partly approved: it waits for %s", id, left)
		} else if starts := d.starts[id]; starts != "" && !slices.Contains(said, starts) {
			said = append(said, starts)
		}
	}
	for i := range said {
		said[i] = "approved: " + said[i]
	}
	return d.Terminal.Tell(said...)
}

// Starts says which run starts a task that was approved, and when.
func Starts(s *queue.Stored) string {
	run := "pulse-queue run"
	switch {
	case s.Kind() == task.Effect:
		run += " --effect " + string(s.Decision.Action)
	case s.OpensText():
		run += ", which hands its text to the worker,"
	}
	when := ""
	if at := s.Task.Until; s.Task.Limit != "" {
		when = fmt.Sprintf(", not before %s (%s); pulse-queue cancel takes it back", at.UTC().Format(time.RFC3339), s.Task.Limit)
	}
	return escape.Message("the next " + run + " starts it" + when)
}

// Left returns what a task still waits for, to which a yes was given here; the empty string: nothing.
func (d *Desk) Left(id string) string { return d.left[id] }
