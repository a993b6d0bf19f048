package queue

import (
	"errors"
	"fmt"
	"slices"

	"pulse/lib/classify/identity"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/lazy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
)

// A standing ask is one that a person submitted for an agent that pulse does not start. No run
// starts it. When its agent proposes something, it is started, and put back at once with what was
// proposed, as a run would: so hold, policy, limits and labels count for it as for any other ask,
// and once it is cancelled nothing comes of it. Pulse did not see what its agent read, so it gets
// all labels. What it proposes proposes nothing.

// StandingArg is the member of the args of a standing ask that holds its name.
const StandingArg = "standing"

// ReasonStands is that of a standing ask that was put back.
const ReasonStands = "stands"

var standingName = lazy.Regexp(`^[a-z0-9][a-z0-9-]{0,39}$`)

// StandingName returns an error unless a standing ask may have a name.
func StandingName(name string) error {
	if !standingName().MatchString(name) {
		return fmt.Errorf("%q is no name: want at most 40 letters a-z, digits and -", name)
	}
	return nil
}

// Standing returns the name of a standing ask, or the empty string.
func (c *Content) Standing() string {
	if c.Identity.Via != identity.ViaSubmit || c.Request == nil {
		return ""
	}
	return proposal.Arg(c.Request.Args, StandingArg)
}

// StandingOf returns the oldest open standing ask of a name, or nil.
func StandingOf(v store.View, name string) (*Stored, error) {
	var ids []store.Entry
	err := v.Open("", func(e store.Entry) (bool, error) {
		if e.Stands() || !e.Told.IsZero() && e.Kind == task.Ask && !e.Message { // told, it shows no other time
			ids = append(ids, e)
		}
		return true, nil
	})
	for _, e := range ids {
		if err != nil {
			return nil, err
		}
		var s *Stored
		if s, err = readable(v, e.State, e.ID); s != nil && s.Standing() == name {
			return s, err
		}
	}
	return nil, err
}

// stands returns the verdict on a standing ask whose agent proposed something.
func (c *Claim) stands(change *task.Change) (task.Event, task.State) {
	change.Attempts, change.Reason = c.Task.Attempts, ReasonStands
	return task.Retried, task.Scheduled
}

// again returns how often an equal effect was done that a standing ask proposed: the next one is
// another. One that waits, or was refused, is the same, however often it is proposed.
func (v *vetting) again(canonical []byte) (ordinal int, err error) {
	for ; ordinal < maxEqual; ordinal++ {
		id := task.EffectID(v.rootID, canonical, ordinal)
		st, err := v.tx.Where(id)
		if st == "" && err == nil {
			st, err = PrunedOf(v.tx, id)
		}
		if st != task.Completed || err != nil {
			return ordinal, err
		}
	}
	return ordinal, nil
}

// maxEqual bounds how often the same may be done for one standing ask.
const maxEqual = 1000

// Became returns as JSON what became of the newest effects of a standing ask, or of the one that
// only names: an array of outcomes, oldest first. Of others it tells nothing.
func Became(s store.Store, id, only string) ([]byte, error) {
	p, err := pastOf(s, id, only)
	if err != nil {
		return nil, err
	}
	file, err := store.Read(s, func(v store.View) ([]byte, error) { return OutboxOf(v, id) })
	outcomes := p.Outcomes
	broken := store.EachProposed(file, func(task string, line []byte) error {
		rec, err := record.Parse(line, request.Member)
		if err != nil {
			return err
		}
		var r request.Request
		err = rec.Decode(request.Member, func(v record.Value) (err error) {
			r, err = request.Decode(v)
			return err
		})
		if r.Tool == proposal.Draft || only != "" && only != task {
			return err
		}
		outcomes = slices.DeleteFunc(outcomes, func(o Outcome) bool { return o.Task == task }) // it was refused, and is judged anew
		outcomes = append(outcomes, Outcome{Task: task, Action: r.Action, Tool: r.Tool, Ending: isProposed})
		return err
	})
	return appendOutcomes(nil, outcomes), errors.Join(err, broken)
}
