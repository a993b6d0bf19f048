package compare_test

import (
	"cmp"
	"fmt"
	"slices"

	"pulse/lib/authorize/compare"
	"pulse/lib/shared/policy"
)

// way says which direction a change of a value has.
type way int

const (
	wider    way = 1
	narrower way = -1
	either   way = 2 // it has to be named, and either direction will do
)

func more[T cmp.Ordered](old, new T) way { return way(cmp.Compare(new, old)) }

func other[T comparable](old, new T) way {
	if old == new {
		return 0
	}
	return either
}

// values are the keys that decide nothing about one record, and what changing each means.
func values(old, new *policy.Policy) map[string]way {
	a, b, levels := &old.Limits, &new.Limits, []string{"terminal", "user", "signature"}
	return map[string]way{
		"limits.max_per_run":          more(a.MaxPerRun, b.MaxPerRun),
		"limits.max_per_day":          more(a.MaxPerDay, b.MaxPerDay),
		"limits.per_sender_per_hour":  more(a.PerSenderPerHour, b.PerSenderPerHour),
		"limits.pending_per_sender":   more(a.PendingPerSender, b.PendingPerSender),
		"limits.max_attempts":         more(a.MaxAttempts, b.MaxAttempts),
		"limits.max_restarts":         more(a.MaxRestarts, b.MaxRestarts),
		"limits.max_closes_per_run":   more(a.MaxClosesPerRun, b.MaxClosesPerRun),
		"limits.review_expires":       more(a.ReviewExpires, b.ReviewExpires),
		"limits.resurface":            more(a.Resurface, b.Resurface),
		"limits.hold_after_yes":       -more(a.HoldAfterYes, b.HoldAfterYes),
		"limits.disk_reserve":         -more(a.DiskReserve, b.DiskReserve),
		"limits.keep_refused":         other(a.KeepRefused, b.KeepRefused),
		"outbound.scheme":             other(old.Outbound.Scheme, new.Outbound.Scheme),
		"drafts.for":                  other(fmt.Sprint(old.Drafts), fmt.Sprint(new.Drafts)),
		"outbound.min_reply_interval": -more(old.Outbound.MinReplyInterval, new.Outbound.MinReplyInterval),
		"approval.require":            -more(slices.Index(levels, old.Approval.Require), slices.Index(levels, new.Approval.Require)),
		"approval.allowed_signers":    other(old.Approval.AllowedSigners, new.Approval.AllowedSigners),
		"approval.ledger":             other(old.Approval.Ledger, new.Approval.Ledger),
		"approval.approver_group":     other(old.Approval.ApproverGroup, new.Approval.ApproverGroup),
	}
}

// wrongValues says what is wrong about the lines without a witness.
func wrongValues(old, new *policy.Policy, list []compare.Difference) string {
	want := values(old, new)
	for i := range list {
		d := &list[i]
		w, known := want[d.Key]
		switch {
		case d.Witness != nil, !known && d.Direction == compare.Other:
			continue
		case !known:
			return fmt.Sprintf("%s %s has no witness", d.Direction, d.Key)
		case w == 0, w == wider && d.Direction != compare.Wider, w == narrower && d.Direction != compare.Narrower:
			return fmt.Sprintf("%s %s: want %d", d.Direction, d.Key, w)
		}
		want[d.Key] = 0
	}
	for key, w := range want {
		if w != 0 {
			return fmt.Sprintf("no line about %s", key)
		}
	}
	return ""
}
