package queue

import (
	"cmp"
	"time"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// Unreported is what gave a label that a worker may have got: it died, or what it said of its
// hook can't be read.
const Unreported = "unreported"

// Attached is what gave a label that a file has which a proposal brings along.
const Attached = "files"

// Unreadable is what gave a label if the file of the labels can't be read.
const Unreadable = "unreadable"

// label gives the root of a task labels. If the root lacked one of them, the log says which it
// has from now on. s.Labels is what the root has after that.
func (s *Stored) label(tx *Tx, more label.Set, now time.Time) error {
	had, err := LabelsOf(tx, s.Root(), s.Identity.Trust)
	if err != nil {
		return err
	}
	s.Labels = had.Union(s.Labels).Union(more)
	if len(s.Labels) == len(had) {
		return nil
	}
	return tx.Log(audit.Line{Time: now.UTC(), Event: audit.Labelled, Task: s.Root(), Labels: s.Labels})
}

// use returns labels that the use of a tool, or of an action without a tool, gives in s.
func (s *Stored) use(list []label.Label, tool string, action terms.Action, now time.Time) (set label.Set) {
	for _, l := range list {
		set, _ = set.With(label.Use{
			Label: l, By: cmp.Or(tool, string(action)), Task: s.Task.ID, At: now.UTC().Truncate(time.Second),
		})
	}
	return set
}

// unreported returns all labels.
func (s *Stored) unreported(now time.Time) label.Set { return s.use(label.All, Unreported, "", now) }

// gives returns the labels that a task gives its root when it is started or carried out.
func (w *weighed) gives(s *Stored) label.Set {
	tool := ""
	if s.Identity.Effect() && s.Request != nil {
		tool = s.Request.Tool
	}
	return s.use(w.decision.Brings, tool, s.Decision.Action, w.change.Since)
}

// heard returns the labels that the uses of tools give of which a worker tells. One that was
// left to a person counts, because that may have been the person at the worker's terminal.
func (c *Claim) heard(end *End, now time.Time) (set label.Set) {
	p := cmp.Or(c.Policy, policy.Default())
	for i := range end.Judged {
		j := &end.Judged[i]
		switch {
		case j.Outcome == terms.Reject:
		case j.Action == "": // the hook could not tell what it let through
			set = set.Union(c.unreported(now))
		default:
			set = set.Union(c.use(tools.Labels(p, j.Tool, j.Action), j.Tool, j.Action, now))
		}
	}
	for _, u := range end.Read.Labels {
		set = set.Union(c.use([]label.Label{u.Label}, u.By, "", now))
	}
	if end.Unread {
		set = set.Union(c.unreported(now))
	}
	return set
}
