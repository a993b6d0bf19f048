package queue

import (
	"errors"
	"fmt"
	"time"

	"pulse/lib/authorize/hook"
	"pulse/lib/queue/store"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Exit statuses that mean something. Every other one except 0 is a failure.
const (
	ExitLater       = 75 // EX_TEMPFAIL: a worker wants to be run again later; a sender says that nothing happened
	exitUsage       = 64 // EX_USAGE: a sender says that nothing happened, because it refuses the record
	exitUnavailable = 69 // EX_UNAVAILABLE: a sender says that nothing happened, and nothing will
)

// End is how a worker ended.
type End struct {
	Exit    int    // exit status; below 0: it was killed
	Stopped bool   // its run was told to stop, and told it
	Result  []byte // what it printed, bounded by the runner
	Cut     bool   // it printed more
	Stderr  []byte // the end of what it wrote there, bounded by the runner

	Proposals *Proposals    // what it proposed if it ended well, and the uses of tools that its hook left to a person; nil: run without --proposals
	Judged    []hook.Judged // what was decided on its uses of tools
	Unread    bool          // not all of that is known: it died before its uses were counted
	Ungated   string        // why nobody knows what its client did without asking; empty: it asked
	Kept      bool          // its client's session can go on
	Unasked   bool          // its client had a use that nobody was asked about

	Read  Origin   // where what its tools may have read in the places for files comes from
	Made  Origin   // origin of what it wrote, where nobody saw what it read
	Wrote []string // the things that changed there while it ran
	Lost  []string // those of which nobody knows
}

// attempt returns what the log says about the end of a worker.
func (e *End) attempt() *audit.End {
	said := audit.LastSaid(e.Stderr)
	if e.Ungated != "" {
		said = audit.LastSaid([]byte(e.Ungated))
	}
	return &audit.End{Exit: e.Exit, Said: said}
}

// FinishCancelled records the end of the worker of a task that was cancelled or otherwise
// taken back meanwhile. It does not move the task.
func FinishCancelled(tx *Tx, c *Claim, end End, now time.Time) error {
	line := audit.Line{Time: now.UTC(), Event: audit.Ended, Task: c.Task.ID, End: end.attempt()}
	if err := tx.Log(line); err != nil {
		return err
	}
	if err := c.touched(tx, &end, now); err != nil {
		return err
	}
	return logJudged(tx, c.Task.ID, end.Judged, now)
}

// logJudged logs what was decided on the uses of tools.
func logJudged(tx *Tx, id string, list []hook.Judged, now time.Time) error {
	for _, j := range list {
		l := audit.Line{
			Time: now.UTC(), Event: audit.Judged, Task: id, Count: j.Count,
			Tool: j.Tool, Action: j.Action, Outcome: j.Outcome, Rule: j.Rule,
		}
		l.Change.Reason = j.Reason
		if err := tx.Log(l); err != nil {
			return err
		}
	}
	return nil
}

// Finish records the end of a claimed task.
func Finish(tx *Tx, c *Claim, end End, limits *policy.Limits, now time.Time) (audit.Line, error) {
	change := task.Change{Since: now.UTC(), Attempts: c.Task.Attempts + 1, Deferred: c.Task.Deferred, Restarts: c.Task.Restarts}
	e, to, shelf := c.judge(&end, limits, &change)
	line := c.move(e, to, change)
	if e == task.Parked {
		line.Outcome, line.Rule = terms.Review, ruleExtract
		if change.Reason == ReasonUngated {
			line.Rule = ruleHook
		}
	}
	line.End = end.attempt()
	if e == task.Restored || !c.Outward() && to == task.Scheduled {
		line.Approval = c.Approval
	}
	if len(end.Result) > 0 {
		tx.Stage(shelf, c.Task.ID, end.Result)
		line.Result = task.Digest(end.Result)
	}
	if err := c.touched(tx, &end, now); err != nil { // what it proposes has the labels, too
		return line, err
	}
	// A model was told what waits for a person, even if its worker fails later.
	proposes := end.Proposals != nil && (e == task.Finished || c.Kind() == task.Ask && len(end.Proposals.List) > 0)
	if proposes {
		if err := c.propose(tx, end.Proposals, limits, &line); err != nil {
			return line, err
		}
	}
	if e == task.Finished && len(line.Proposed) > 0 {
		line.Change.Reason = c.paused(&end, limits)
	}
	if err := tx.Move(line); err != nil {
		return line, err
	}
	if err := c.stillPutOff(tx, &line, limits); err != nil {
		return line, err
	}
	if err := logJudged(tx, c.Task.ID, end.Judged, now); err != nil || !proposes {
		return line, err
	}
	for _, why := range end.Proposals.Discarded.All() {
		if err := tx.Log(discard(c.Task.ID, why, end.Proposals.Discarded[why], change)); err != nil {
			return line, err
		}
	}
	return line, nil
}

// judge says what becomes of a task, and where what was printed is kept.
func (c *Claim) judge(end *End, limits *policy.Limits, change *task.Change) (e task.Event, to task.State, printed store.Shelf) {
	printed = store.Results
	if c.Schema == nil {
		e, to = verdict(c, *end, limits, change)
	} else if e, to = c.readVerdict(end, limits, change); e == task.Extracted {
		printed = store.Extracts
	}
	return e, to, printed
}

func verdict(c *Claim, end End, limits *policy.Limits, change *task.Change) (task.Event, task.State) {
	wait := backoff(change.Attempts-change.Deferred, limits.MaxAttempts)
	if end.Exit == ExitLater {
		change.Deferred++
		wait = putOff(change.Deferred)
	}
	later := change.Since.Add(wait)
	switch {
	case end.Ungated != "" && end.Unasked: // nobody knows what it did
		change.Reason = ReasonUngated
		return task.Parked, task.Awaiting
	case c.Standing() != "":
		return c.stands(change)
	case end.Exit == 0 && end.Ungated == "":
		change.Reason = ReasonDone
		return task.Finished, task.Completed
	case c.Outward() && end.Exit == ExitLater:
		change.Reason, change.NotBefore = ReasonLater, later
		return task.Restored, task.Scheduled
	case c.Kind() == task.Effect && (end.Exit == exitUsage || end.Exit == exitUnavailable):
		change.Reason = ReasonNotDone
		return task.GaveUp, task.Failed
	case c.Outward(), c.once() && end.Exit != ExitLater:
		change.Reason = ReasonUnknownEffect
		return task.Undecided, task.Awaiting
	case end.Exit == ExitLater:
		change.Reason, change.NotBefore = ReasonLater, later
		return task.Retried, task.Scheduled
	case end.Stopped: // a shutdown is not the worker's failure, and counts as a death
		change.Attempts, change.Restarts, change.Reason = c.Task.Attempts, c.Task.Restarts+1, ReasonDied
		if change.Restarts > limits.MaxRestarts {
			return task.GaveUp, task.Failed
		}
		return task.Restarted, task.Scheduled
	}
	change.Reason = ReasonExit
	if end.Ungated != "" {
		change.Reason = ReasonUngated
	}
	if change.Attempts-change.Deferred >= limits.MaxAttempts {
		return task.GaveUp, task.Failed
	}
	change.NotBefore = later
	return task.Retried, task.Scheduled
}

// putOff returns how long a task waits after its worker asked for that for the nth time:
// 1, 2, 4 … 60 minutes. So after an outage a task waits at most an hour, and at most about
// as long as the outage lasted. What is put off for most of a day is not in an outage of a
// night: it waits 2, 4 … 24 hours, so that a few tasks which are put off for ever do not use
// up the starts of a day.
func putOff(n int) time.Duration {
	const hourly = 24 // from here on it is put off for longer
	if n > hourly {
		return min(24*time.Hour, time.Hour<<min(n-hourly, 5))
	}
	return min(time.Hour, time.Minute<<min(n-1, 10))
}

// beforeLast is the time between the last two attempts. The attempts must not all fall into
// one outage, such as that of a night, although there are only few of them.
const beforeLast = 12 * time.Hour

// backoff returns how long a task waits after its nth failure: 15, 30, 60 … 240 minutes, and
// before the last attempt beforeLast.
func backoff(n, maxAttempts int) time.Duration {
	if n >= maxAttempts-1 {
		return beforeLast
	}
	return min(4*time.Hour, 15*time.Minute<<min(n-1, 10))
}

// Reap puts back tasks whose runner died. dead reports whether the kernel knows neither
// the runner nor the worker of a task any more. Reap calls it while the store is locked,
// and a run locks a task before the task is visible as running. What hooks of these workers
// allowed is not known, so that their root tasks get all labels. more means that there may be
// more of them, for another Update.
func Reap(tx *Tx, limits *policy.Limits, now time.Time, dead func(id string) bool) (more bool, err error) {
	return each(tx, task.Running, func(e *store.Entry) (bool, error) {
		if !dead(e.ID) {
			return false, nil
		}
		s, err := Load(tx, task.Running, e.ID)
		if errors.Is(err, store.ErrUnknown) {
			return false, nil
		}
		if broken := reasonBroken(&s, e, err); broken != "" {
			return true, tx.Move(s.move(task.Broke, task.Corrupt, task.Change{Since: now, Reason: broken}))
		}
		if err != nil {
			return false, err
		}
		a, err := ApprovalOf(tx, e.ID)
		if errors.Is(err, store.ErrCorrupt) {
			a, err = nil, nil
		}
		if err != nil {
			return false, err
		}
		if err := tx.Move(s.died(a, limits, now)); err != nil {
			return false, err
		}
		if s.Task.Reason == ReasonReading { // it has no tools
			return true, nil
		}
		return true, s.label(tx, s.unreported(now), now)
	})
}

// died returns the line of a task whose worker and runner are gone.
func (s *Stored) died(a *approval.Approval, limits *policy.Limits, now time.Time) audit.Line {
	change := task.Change{
		Since: now.UTC(), Attempts: s.Task.Attempts, Deferred: s.Task.Deferred, Restarts: s.Task.Restarts + 1,
		Reason: ReasonDied,
	}
	switch {
	case s.once():
		change.Reason = ReasonUnknownEffect
		return s.move(task.Undecided, task.Awaiting, change)
	case change.Restarts > limits.MaxRestarts && s.Task.Reason == ReasonReading:
		change.Reason = ReasonUnread
		line := s.move(task.Parked, task.Awaiting, change)
		line.Outcome, line.Rule = terms.Review, ruleExtract
		return line
	case change.Restarts > limits.MaxRestarts:
		return s.move(task.GaveUp, task.Failed, change)
	}
	line := s.move(task.Restarted, task.Scheduled, change)
	line.Approval = a
	return line
}

// Complaint returns the one line about a task that did not end well.
func Complaint(l *audit.Line) string {
	switch {
	case l.Change.Reason == ReasonNotDone:
		return fmt.Sprintf("task %s failed: its sender says that it did not happen", l.Task)
	case l.Event == task.GaveUp && l.Change.Reason == ReasonDied:
		return fmt.Sprintf("task %s failed: %s after %d restarts", l.Task, l.Change.Reason, l.Change.Restarts)
	case l.Event == task.GaveUp:
		return fmt.Sprintf("task %s failed: %s after %d attempts", l.Task, l.Change.Reason, l.Change.Attempts)
	case l.Event == task.Restarted:
		return fmt.Sprintf("task %s: told to stop, and the next run starts it again", l.Task)
	case l.Event == task.Undecided:
		return fmt.Sprintf("task %s: nobody knows whether the effect happened: it awaits a person", l.Task)
	}
	if l.Event == task.Parked && l.Change.Reason == ReasonUngated {
		return fmt.Sprintf("task %s: ungated: %s: it awaits a person", l.Task, l.End.Said)
	}
	if l.Event == task.Parked {
		return fmt.Sprintf("task %s: its reader made no extract (%s): it awaits a person", l.Task, l.Change.Reason)
	}
	again := l.Change.NotBefore.Format(time.RFC3339)
	return fmt.Sprintf("task %s: %s, again at %s", l.Task, l.Change.Reason, again)
}

// Return gives back what the start of a task spent, once the task is scheduled again:
// its worker said that nothing happened, or that it failed.
func (r *Run) Return(c *Claim, end *audit.Line) error {
	if len(c.spent) == 0 || end.To != task.Scheduled {
		return nil
	}
	return r.Signed.Return(c.spent, end.Time)
}
