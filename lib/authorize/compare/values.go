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
	was, is := &old.Limits, &new.Limits
	higher(v, "limits.max_per_run", was.MaxPerRun, is.MaxPerRun)
	higher(v, "limits.max_per_day", was.MaxPerDay, is.MaxPerDay)
	higher(v, "limits.per_sender_per_hour", was.PerSenderPerHour, is.PerSenderPerHour)
	higher(v, "limits.pending_per_sender", was.PendingPerSender, is.PendingPerSender)
	higher(v, "limits.max_attempts", was.MaxAttempts, is.MaxAttempts)
	higher(v, "limits.max_restarts", was.MaxRestarts, is.MaxRestarts)
	higher(v, "limits.max_closes_per_run", was.MaxClosesPerRun, is.MaxClosesPerRun)
	higher(v, "limits.max_continues", was.MaxContinues, is.MaxContinues)
	higher(v, "limits.max_revisions", was.MaxRevisions, is.MaxRevisions)
	higher(v, "limits.review_expires", was.ReviewExpires, is.ReviewExpires)
	higher(v, "limits.resurface", was.Resurface, is.Resurface)
	lower(v, "limits.hold_after_yes", was.HoldAfterYes, is.HoldAfterYes)
	lower(v, "limits.disk_reserve", was.DiskReserve, is.DiskReserve)
	v.other("limits.keep_refused", was.KeepRefused, is.KeepRefused)
	v.other("outbound.scheme", old.Outbound.Scheme, new.Outbound.Scheme)
	v.draftsFor()
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
	v.ordered(key, was, is, cmp.Compare(is, was))
}

// lower compares a key of which less is wider.
func lower[T cmp.Ordered](v *valued, key string, was, is T) {
	v.ordered(key, was, is, cmp.Compare(was, is))
}

// ordered adds a line about two values, unless they are equal: wider if way is above 0.
func (v *valued) ordered(key string, was, is any, way int) {
	if way != 0 {
		v.add(map[int]Direction{1: Wider, -1: Narrower}[way], key, "%v -> %v", shown(was), shown(is))
	}
}

// draftsFor compares drafts.for: a draft lets nothing happen.
func (v *valued) draftsFor() {
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
	from, to := slices.Index(levels, was.Require), slices.Index(levels, is.Require)
	v.ordered("approval.require", was.Require, is.Require, cmp.Compare(from, to))
	v.named("approval.approver_group", was.ApproverGroup, is.ApproverGroup, Wider, ": any group will do", ": who is in a group is not compared")
	v.named("approval.allowed_signers", was.AllowedSigners, is.AllowedSigners, Narrower, ": no yes may be signed", ": what is in the files is not compared")
	v.other("approval.ledger", was.Ledger, is.Ledger)
	v.rows(was.Rows, is.Rows)
}

// named compares a key that names something outside the policy. without says which way it is to take
// the key out, gone what follows then, and unseen what nobody looks at if both have it.
func (v *valued) named(key, was, is string, without Direction, gone, unseen string) {
	with := map[Direction]Direction{Wider: Narrower, Narrower: Wider}[without]
	switch {
	case was == is:
	case is == "":
		v.add(without, key, "%s -> absent%s", was, gone)
	case was == "":
		v.add(with, key, "absent -> %s", is)
	default:
		v.add(Other, key, "%s -> %s%s", was, is, unseen)
	}
}
