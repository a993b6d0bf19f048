package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Where [extract] of the policy requires it, a program without tools reads the text of an ask
// first, and the worker gets what that program made of it. So an ask is started twice: for
// its reader, which moves it back to scheduled, and for its worker.

// The reasons of the start of a reader, and of what comes of it.
const (
	ReasonReading   = "reading" // of a running task: its reader was started, and no worker
	ReasonExtracted = "extracted"
	ReasonUnfit     = "extract_unfit"  // what its reader printed does not fit the schema
	ReasonUnread    = "extract_failed" // its reader failed
)

// ruleExtract stands in the log where [extract] wants a person to look.
const ruleExtract = "extract.require"

// ruleHook stands in the log where a client that did not ask its hook wants one to.
const ruleHook = "hook"

// Withholds reports whether workers of a task get an extract, and no text. It goes by the
// level at which the task was accepted and by that of this moment, so that neither opens the
// text.
func (r *Run) Withholds(c *Content) bool {
	if c.Kind() != task.Ask {
		return false
	}
	who := c.Identity
	in := r.input(c, &who)
	f := c.Decision.Follow(&in)
	return !f.Text
}

// mine reports whether a scheduled task is for the programs that this run starts: its reader
// or its worker. If it has an extract that fits the schema of today, mine sets s.Extract.
func (r *Run) mine(v store.View, s *Stored) (bool, error) {
	if s.Kind() == task.Effect { // one that needs no worker is carried out by every run
		return true, nil
	}
	if name := s.Standing(); name != "" || r.Standing != "" {
		return name == r.Standing, nil
	}
	if !r.Withholds(&s.Content) {
		return !r.Readers, nil
	}
	if err := r.fits(v, s); err != nil {
		return false, err
	}
	if s.Extract != nil {
		return !r.Readers, nil
	}
	a, err := ApprovalOf(v, s.Task.ID)
	if errors.Is(err, store.ErrCorrupt) {
		err = nil
	}
	return r.opens(s, a) != r.Readers, err
}

// fits sets s.Extract if there is an extract that fits the schema of today.
func (r *Run) fits(v store.View, s *Stored) error {
	kept, err := ExtractOf(v, s.Task.ID)
	if kept == nil || r.Schema == nil || err != nil {
		return err
	}
	if x, unfit := r.Schema.Fit(kept, s.addresses()); unfit == nil {
		s.Extract = x
	}
	return nil
}

// opens reports whether an approval hands the text of a task to its worker, because there is
// no extract that fits.
func (r *Run) opens(s *Stored, a *approval.Approval) bool {
	return a != nil && a.Text && s.Extract == nil && r.Withholds(&s.Content)
}

// elsewhere reports whether a scheduled task is not for the programs that this run starts, as
// far as that is known without its file. There may be ten thousand that wait for a reader.
func (r *Run) elsewhere(v store.View, e *store.Entry) (bool, error) {
	x := &r.Policy.Extract
	if e.Kind != task.Ask || len(x.Require) == 0 || r.Standing != "" {
		return r.Readers, nil
	}
	if r.passed[e.ID] {
		return true, nil
	}
	only := !slices.ContainsFunc(x.Require, func(t terms.Trust) bool { return t != terms.ExternalVerified })
	switch {
	case !e.External:
		return only && r.Readers, nil
	case !x.Requires(terms.ExternalVerified) || r.Readers:
		return false, nil
	}
	has, err := v.Has(store.Extracts, e.ID)
	if has || err != nil {
		return false, err
	}
	yes, err := v.Has(store.Approvals, e.ID)
	return !yes, err
}

// pass notes that a task is not for the programs that this run starts.
func (r *Run) pass(id string) {
	if r.passed == nil {
		r.passed = map[string]bool{}
	}
	r.passed[id] = true
}

// Unread reports whether a scheduled task waits for a reader.
func (r *Run) Unread(v store.View, e *store.Entry) (bool, error) {
	run := Run{Policy: r.Policy, Schema: r.Schema}
	return run.skips(v, e)
}

// skips is elsewhere for a caller that has to know: it looks into the file of a task.
func (r *Run) skips(v store.View, e *store.Entry) (bool, error) {
	if not, err := r.elsewhere(v, e); not || err != nil || e.Kind != task.Ask || len(r.Policy.Extract.Require) == 0 {
		return not, err
	}
	s, err := readable(v, task.Scheduled, e.ID)
	if s == nil || err != nil {
		return false, err
	}
	mine, err := r.mine(v, s)
	return !mine, err
}

// ExtractOf returns what a task's reader made of its text, whether or not that fits the schema
// of today, or nil.
func ExtractOf(v store.View, id string) ([]byte, error) {
	item, err := v.Get(store.Extracts, id)
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCorrupt) {
		return nil, nil
	}
	return item.Bytes, err
}

// OpensText reports whether a yes to a task that waits hands its text to its worker: its reader
// made nothing of it that could take the place of the text.
func (s *Stored) OpensText() bool {
	return s.Task.State == task.Awaiting && (s.Task.Reason == ReasonUnfit || s.Task.Reason == ReasonUnread)
}

// addresses returns the addresses that stand in From, To and Cc of the message of a task.
func (c *Content) addresses() (list []string) {
	if c.Message != nil {
		list = identity.Recipients(c.Message)
	}
	return append(list, c.Identity.Sender)
}

// soon is how long a task waits after its reader's value did not fit.
const soon = time.Minute

// readings is how often in a row the value of a reader may not fit.
const readings = 2

// readVerdict is verdict for the reader of a task. What it printed becomes the extract, if it
// fits. The text is never lost: where a worker's task would fail, this one waits for a person.
func (c *Claim) readVerdict(end *End, limits *policy.Limits, change *task.Change) (task.Event, task.State) {
	failures := change.Attempts - change.Deferred
	if end.Exit != 0 {
		e, to := verdict(c, *end, limits, change)
		if to == task.Failed {
			e, to = task.Parked, task.Awaiting
		}
		if end.Exit != ExitLater && e != task.Restarted {
			change.Reason = ReasonUnread
		}
		return e, to
	}
	x, err := c.extract(end)
	if err == nil {
		end.Result = x
		*change = task.Change{Since: change.Since, Reason: ReasonExtracted}
		return task.Extracted, task.Scheduled
	}
	end.Stderr = fmt.Appendf(nil, "what the reader printed does not fit the schema: %v", err)
	change.Reason = ReasonUnfit
	if c.unfit || failures >= max(readings, limits.MaxAttempts) {
		return task.Parked, task.Awaiting
	}
	change.NotBefore = change.Since.Add(soon)
	return task.Retried, task.Scheduled
}

// extract returns what the reader printed, if it is one value that fits the schema.
func (c *Claim) extract(end *End) ([]byte, error) {
	if end.Cut {
		return nil, errors.New("it is too long")
	}
	return c.Schema.Fit(end.Result, c.addresses())
}
