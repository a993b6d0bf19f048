package compare

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pulse/lib/shared/policy"
)

// values compares the keys that decide nothing about a single record: caps, intervals,
// and how a person's yes is given.
func values(old, new *policy.Policy, load Schemas) []Difference {
	v := &valued{old: old, new: new}
	for _, l := range []struct {
		key string
		of  func(l *policy.Limits) int
	}{
		{"max_per_run", func(l *policy.Limits) int { return l.MaxPerRun }},
		{"max_per_day", func(l *policy.Limits) int { return l.MaxPerDay }},
		{"per_sender_per_hour", func(l *policy.Limits) int { return l.PerSenderPerHour }},
		{"pending_per_sender", func(l *policy.Limits) int { return l.PendingPerSender }},
		{"max_attempts", func(l *policy.Limits) int { return l.MaxAttempts }},
		{"max_restarts", func(l *policy.Limits) int { return l.MaxRestarts }},
		{"max_closes_per_run", func(l *policy.Limits) int { return l.MaxClosesPerRun }},
		{"max_continues", func(l *policy.Limits) int { return l.MaxContinues }},
		{"max_revisions", func(l *policy.Limits) int { return l.MaxRevisions }},
	} {
		higher(v, "limits."+l.key, l.of(&old.Limits), l.of(&new.Limits))
	}
	higher(v, "limits.review_expires", old.Limits.ReviewExpires, new.Limits.ReviewExpires)
	higher(v, "limits.resurface", old.Limits.Resurface, new.Limits.Resurface)
	lower(v, "limits.hold_after_yes", old.Limits.HoldAfterYes, new.Limits.HoldAfterYes)
	lower(v, "limits.disk_reserve", old.Limits.DiskReserve, new.Limits.DiskReserve)
	v.other("limits.keep_refused", old.Limits.KeepRefused, new.Limits.KeepRefused)
	v.other("outbound.scheme", old.Outbound.Scheme, new.Outbound.Scheme)
	v.drafts()
	lower(v, "outbound.min_reply_interval", old.Outbound.MinReplyInterval, new.Outbound.MinReplyInterval)
	v.approval(&old.Approval, &new.Approval)
	v.extract(load)
	return v.list
}

type valued struct {
	old, new *policy.Policy
	list     []Difference
}

// add adds a line about a key, whose file and line are those of NEW, or else of OLD.
func (v *valued) add(direction Direction, key, format string, args ...any) {
	d := Difference{Direction: direction, Key: key, What: fmt.Sprintf(format, args...), File: v.new.Name, Line: v.new.Line(key, 0)}
	if d.Line == 0 {
		d.File, d.Line = v.old.Name, v.old.Line(key, 0)
	}
	v.list = append(v.list, d)
}

// higher compares a key of which more is wider.
func higher[T cmp.Ordered](v *valued, key string, was, is T) {
	switch {
	case is > was:
		v.add(Wider, key, "%v -> %v", shown(was), shown(is))
	case is < was:
		v.add(Narrower, key, "%v -> %v", shown(was), shown(is))
	}
}

// lower compares a key of which less is wider.
func lower[T cmp.Ordered](v *valued, key string, was, is T) {
	switch {
	case is < was:
		v.add(Wider, key, "%v -> %v", shown(was), shown(is))
	case is > was:
		v.add(Narrower, key, "%v -> %v", shown(was), shown(is))
	}
}

// drafts compares beside which effects a draft is written. It lets nothing happen.
func (v *valued) drafts() {
	if was, is := v.old.Drafts, v.new.Drafts; !slices.Equal(was, is) {
		v.add(Other, "drafts.for", "%v -> %v", was, is)
	}
}

func (v *valued) other(key string, was, is any) {
	if was != is {
		v.add(Other, key, "%v -> %v", shown(was), shown(is))
	}
}

// shown is a value as a policy file has it.
func shown(v any) any {
	switch v := v.(type) {
	case time.Duration:
		return short(v)
	case string:
		if v == "" {
			return "absent"
		}
	}
	return v
}

// short writes a duration without the zeros at its end.
func short(d time.Duration) string {
	switch {
	case d != 0 && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d != 0 && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

// levels are the values of approval.require, the weakest first.
var levels = []string{"terminal", "user", "signature"}

func (v *valued) approval(was, is *policy.Approval) {
	if from, to := slices.Index(levels, was.Require), slices.Index(levels, is.Require); from != to {
		way := Narrower
		if to < from {
			way = Wider
		}
		v.add(way, "approval.require", "%s -> %s", was.Require, is.Require)
	}
	const group = "approval.approver_group"
	switch {
	case was.ApproverGroup == is.ApproverGroup:
	case is.ApproverGroup == "":
		v.add(Wider, group, "%s -> absent: any group will do", was.ApproverGroup)
	case was.ApproverGroup == "":
		v.add(Narrower, group, "absent -> %s", is.ApproverGroup)
	default:
		v.add(Other, group, "%s -> %s: who is in a group is not compared", was.ApproverGroup, is.ApproverGroup)
	}
	v.signers(was.AllowedSigners, is.AllowedSigners)
	v.other("approval.ledger", was.Ledger, is.Ledger)
	v.rows(was.Rows, is.Rows)
}

// signers compares who may sign a yes. The files are not opened.
func (v *valued) signers(was, is string) {
	const key = "approval.allowed_signers"
	switch {
	case was == is:
	case was == "":
		v.add(Wider, key, "absent -> %s: a yes may be signed", is)
	case is == "":
		v.add(Narrower, key, "%s -> absent: no yes may be signed", was)
	default:
		v.add(Other, key, "%s -> %s: what is in the files is not compared", was, is)
	}
}
