package explain

import (
	"maps"
	"slices"

	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// narrowing are the changes of the policy that let less through, those about the fewest
// others first.
var narrowing = [...]maker{ofTool(denyTool), ofEffect(noTarget), lowerSender, lowerRow, unlist}

// lowered returns the row with the action one step down: a person is asked about what was
// allowed, and anything else is rejected.
func lowered(row policy.Row, a *answer) policy.Row {
	after := maps.Clone(row)
	if a.d.Outcome == terms.Allow {
		after[a.d.Action] = terms.Confirm
	} else {
		delete(after, a.d.Action)
	}
	return after
}

func lowerSender(s *Subject, a *answer) []Change {
	row, name := s.Policy.Row(a.id.Trust, a.id.Sender)
	if name != string(a.id.Trust) || !hasOwnRow(a) {
		return nil
	}
	own := policy.SenderRow{Sender: a.id.Sender, Row: lowered(row, a)}
	return []Change{change("", func(p *policy.Policy) { p.Senders = with(p.Senders, own) },
		rowEdits(s.Policy, own.Name(), nil, own.Row)...)}
}

func lowerRow(s *Subject, a *answer) []Change {
	row, name := s.Policy.Row(a.id.Trust, a.id.Sender)
	after := lowered(row, a)
	return []Change{change("", func(p *policy.Policy) { setRow(p, a.id.Trust, a.id.Sender, after) },
		rowEdits(s.Policy, name, row, after)...)}
}

// unlist takes the sender off the list by which it is trusted.
func unlist(s *Subject, a *answer) []Change {
	here := func(entry string) bool { return address.Listed([]string{entry}, a.id.Sender) }
	switch {
	case slices.ContainsFunc(s.Policy.Owners, here):
		return owners.set("", without(s.Policy.Owners, here))
	case slices.ContainsFunc(s.Policy.AllowedExternal, here):
		return allowedExternal.set("", without(s.Policy.AllowedExternal, here))
	}
	return nil
}

func denyTool(s *Subject, _ *answer) []Change {
	return toolsDeny.set("", with(s.Policy.Tools.Deny, s.Request.Tool))
}

// noTarget takes the targets off outbound.allow.
func noTarget(s *Subject, _ *answer) []Change {
	return outboundAllow.set("", without(s.Policy.Outbound.Allow, func(entry string) bool {
		return slices.ContainsFunc(s.Request.Target, func(to string) bool { return address.Lets(entry, s.Policy.Outbound.Form(to)) })
	}))
}
