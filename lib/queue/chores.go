package queue

import (
	"errors"
	"time"

	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// reasonClosed is the reason of a task that an agent closed.
const reasonClosed = "closed_by_agent"

// own reports whether it is an effect on the queue itself, for which no worker is
// started.
func (c *Content) own() bool {
	return c.Identity.Effect() && c.Decision.Action == terms.WriteLocal &&
		c.Request != nil && proposal.Own(c.Request.Tool)
}

// Chores carries out the scheduled effects on the queue itself: drafts, notes and
// closes. Each is decided on again first. more means that there are more of them, for
// another Update. It reads the turns on the way, which Next will need.
func (r *Run) Chores(tx *Tx, now time.Time) (more bool, err error) {
	if stop, err := stopped(tx); stop || err != nil {
		return false, err
	}
	if now, err = nowOf(tx, now); err != nil {
		return false, err
	}
	begun, size, moves := false, 0, 0
	chore := func(e *store.Entry) (moved bool, err error) {
		s, err := Load(tx, task.Scheduled, e.ID)
		if errors.Is(err, store.ErrUnknown) || reasonBroken(&s, e, err) != "" || err == nil && !s.own() {
			return false, nil // a run or verify deals with it
		}
		if err != nil {
			return false, err
		}
		if s.Request.Tool == proposal.Close {
			// The task that it closes may be one of these, and this Update's picture is from before.
			if more = true; begun {
				return false, nil
			}
		}
		begun = true
		if size += len(s.File); size >= maxBatchBytes {
			more = true // drafts are held in memory until the commit
		}
		_, moved, err = r.dispatch(tx, &s, now, nil)
		return moved, err
	}
	used, err := r.usage(tx, now)
	if err != nil {
		return false, err
	}
	err = r.readTurns(tx, &used, now, r.Max, nil, func(e *store.Entry) (rest bool, err error) {
		if more || e.Kind != task.Effect || !e.Is(terms.WriteLocal) {
			return false, nil
		}
		if e.Waits(now) {
			return true, nil
		}
		moved, err := chore(e)
		if moved {
			moves++
		}
		more = more || moves >= maxMoves
		return true, err
	})
	return more, err
}

// carry carries out an effect on the queue itself, if it still fits.
func (r *Run) carry(tx *Tx, s *Stored, w *weighed) error {
	if err := r.proving().Spend(w.spends, w.clock.Sure()); err != nil {
		return err
	}
	change := w.change
	change.Reason = ReasonDone
	line := s.move(task.Carried, task.Completed, change)
	line.Outcome, line.Rule, line.Policy = w.decision.Outcome, w.decision.Rule, w.decision.Policy
	if s.Request.Tool == proposal.Draft {
		draft, err := s.draft()
		if err != nil {
			return err
		}
		gated, err := s.besideGated(tx)
		if err != nil {
			return err
		}
		if !gated {
			return tx.Move(line)
		}
		tx.Stage(store.Drafts, s.Task.ID, draft)
		line.Result = task.Digest(draft)
		return tx.Move(line)
	}
	subject, err := anywhere(tx, proposal.Arg(s.Request.Args, "task"))
	if err != nil {
		return err
	}
	why := meddles(s.Request.Tool, subject, s.Identity.Root)
	if why == "" && subject.Task.ID == s.Task.ID {
		why = proposal.NotItsTask
	}
	if why != "" {
		change.Reason = string(why)
		return tx.Move(s.move(task.Dropped, task.Rejected, change))
	}
	if s.Request.Tool == proposal.Note {
		note := audit.Line{Time: change.Since, Event: audit.Noted, Task: subject.Task.ID, Parent: s.Task.ID}
		if err := tx.Log(note); err != nil {
			return err
		}
		return tx.Move(line)
	}
	logged, err := logged(tx, subject.Task.ID)
	if err != nil {
		return err
	}
	if logged != subject.Task.State { // its file was moved by hand
		change.Reason = string(proposal.NotLegal)
		return tx.Move(s.move(task.Dropped, task.Rejected, change))
	}
	if err := tx.Move(subject.closed(s.Task.ID, change.Since)); err != nil {
		return err
	}
	return tx.Move(line)
}

// draft returns the file that a draft writes.
func (c *Content) draft() ([]byte, error) {
	if beside := proposal.Beside(c.Request); beside != nil {
		return proposal.Companion(beside)
	}
	return c.Request.Canonical()
}

// DraftID returns the id of the draft that is proposed beside an effect, or nothing.
func (c *Content) DraftID() string {
	if !c.Identity.Effect() || c.Request == nil {
		return ""
	}
	draft := proposal.DraftOf(c.Request)
	if draft == nil {
		return ""
	}
	canonical, err := draft.Canonical()
	if err != nil {
		return ""
	}
	return task.EffectID(c.Identity.Root, canonical, c.Identity.Ordinal)
}

// besideGated reports whether a draft is written: that of a message always is, and any other if
// the effect beside which it was proposed is one that a person is asked about, as it stands in
// this queue.
func (c *Content) besideGated(v store.View) (bool, error) {
	beside := proposal.Beside(c.Request)
	if beside == nil {
		return true, nil
	}
	canonical, err := beside.Canonical()
	if err != nil {
		return false, err
	}
	of, err := anywhere(v, task.EffectID(c.Identity.Root, canonical, c.Identity.Ordinal))
	return of != nil && of.Identity.Effect() && of.Decision.Outcome != terms.Allow, err
}

// closed returns the line of a task that an effect closes. A person can requeue the task.
func (s *Stored) closed(by string, now time.Time) audit.Line {
	change := s.Task.Change
	change.Since, change.NotBefore, change.Reason = now, time.Time{}, reasonClosed
	line := s.move(task.Closed, task.Rejected, change)
	line.By = "task " + by
	return line
}
