package decision

import (
	"slices"

	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// approvers returns the rows of [[approval.row]] that are about a record. All of them count: a second
// target can't bring a row that asks for less.
func approvers(in *Input, action terms.Action) (list []policy.ApprovalRow) {
	for _, row := range in.Policy.Approval.Rows {
		if about(&row, in, action) {
			list = append(list, row)
		}
	}
	return list
}

// about reports whether a row is about a record. An agent chooses what it says: an effect without a
// tool may be of any, and a target that can't be read may be any.
func about(row *policy.ApprovalRow, in *Input, action terms.Action) bool {
	tool, target := tools.Of(in.Request), []string(nil)
	if in.Request != nil {
		target = in.Request.Target
	}
	listed := policy.Outbound{Allow: row.Targets, Scheme: in.Policy.Outbound.Scheme}
	meant := func(t string) bool {
		_, err := address.Target(t, listed.Scheme)
		return err != nil || listed.Lists(t)
	}
	of := func(glob string) bool { return in.Request != nil && tool == "" || policy.Match(glob, tool) }
	return (row.Actions == nil || slices.Contains(row.Actions, action)) &&
		(row.Tools == nil || slices.ContainsFunc(row.Tools, of)) &&
		(row.Targets == nil || slices.ContainsFunc(target, meant)) &&
		(row.Senders == nil || address.Listed(row.Senders, in.Identity.Sender))
}

// Bound reports whether a row may be about what reaches a target, of which no more is known.
func Bound(p *policy.Policy, target string) bool {
	in := Input{Identity: &identity.Identity{}, Request: &request.Request{Target: []string{target}}, Policy: p}
	return slices.ContainsFunc(p.Approval.Rows, func(row policy.ApprovalRow) bool {
		row.Senders = nil
		return slices.ContainsFunc(terms.Actions, func(a terms.Action) bool { return a.Outward() && about(&row, &in, a) })
	})
}

// counted sets how many persons have to say yes, where one has to.
func (d Decision) counted(in *Input) Decision {
	if d.Outcome == terms.Confirm || d.Outcome == terms.Review {
		for _, row := range approvers(in, d.Action) {
			if row.Count > 1 {
				d.Count = row.Count
			}
		}
	}
	return d
}
