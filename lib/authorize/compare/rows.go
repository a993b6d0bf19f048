package compare

import (
	"fmt"
	"slices"
	"strings"

	"pulse/lib/shared/policy"
)

const rowKey = "approval.row"

// rows compares whose yes is needed. Rows about the same are compared with each other; what a row is
// about is not compared, so that one about something else is one row less and one more.
func (v *valued) rows(was, is []policy.ApprovalRow) {
	left := slices.Clone(is)
	for i := range was {
		at := slices.IndexFunc(left, func(r policy.ApprovalRow) bool { return about(&r) == about(&was[i]) })
		if at < 0 {
			v.add(Wider, rowKey, "%s: %s -> absent", about(&was[i]), wanting(&was[i]))
			continue
		}
		v.row(&was[i], &left[at])
		left = slices.Delete(left, at, at+1)
	}
	for i := range left {
		v.add(Narrower, rowKey, "%s: absent -> %s", about(&left[i]), wanting(&left[i]))
	}
}

// row compares two rows about the same. Fewer names are fewer people whose yes counts.
func (v *valued) row(was, is *policy.ApprovalRow) {
	say := func(wider, narrower bool, key, from, to string) {
		switch {
		case wider:
			v.add(Wider, rowKey, "%s: %s %s -> %s", about(is), key, from, to)
		case narrower:
			v.add(Narrower, rowKey, "%s: %s %s -> %s", about(is), key, from, to)
		}
	}
	say(is.Count < was.Count, is.Count > was.Count, "count", fmt.Sprint(was.Count), fmt.Sprint(is.Count))
	say(was.NotAuthor && !is.NotAuthor, !was.NotAuthor && is.NotAuthor, "not_author", fmt.Sprint(was.NotAuthor), fmt.Sprint(is.NotAuthor))
	more := is.Approvers == nil || slices.ContainsFunc(is.Approvers, func(n string) bool { return !slices.Contains(was.Approvers, n) })
	less := was.Approvers == nil || slices.ContainsFunc(was.Approvers, func(n string) bool { return !slices.Contains(is.Approvers, n) })
	say(was.Approvers != nil && more, is.Approvers != nil && less, "approvers", names(was), names(is))
}

// names says who may say the yes that a row wants.
func names(r *policy.ApprovalRow) string {
	if r.Approvers == nil {
		return "anyone"
	}
	return strings.Join(r.Approvers, ", ")
}

// about says what a row is about.
func about(r *policy.ApprovalRow) string {
	var parts []string
	add := func(key string, list []string) {
		if list != nil {
			list = slices.Clone(list)
			slices.Sort(list)
			parts = append(parts, key+" "+strings.Join(list, ", "))
		}
	}
	var actions []string
	for _, a := range r.Actions {
		actions = append(actions, string(a))
	}
	add("action", actions)
	add("tool", r.Tools)
	add("target", r.Targets)
	add("sender", r.Senders)
	if parts == nil {
		return "everything"
	}
	return strings.Join(parts, "; ")
}

// wanting says whose yes a row wants.
func wanting(r *policy.ApprovalRow) string {
	text := names(r)
	if r.Count > 1 {
		text = fmt.Sprintf("%d of %s", r.Count, text)
	}
	if r.NotAuthor {
		text += ", not the author"
	}
	return text
}
