package check

import (
	"slices"
	"strings"

	"pulse/lib/authorize/compare"
	"pulse/lib/authorize/tools"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// flowRisks reports where [flow] says less than it seems to.
func flowRisks(p *policy.Policy, risk func(bool, string, ...any)) {
	for _, l := range label.All {
		f, key := p.Flow[l], "flow."+string(l)
		entries := slices.Concat(f.Confirm, f.Deny)
		risk(len(entries) > 0 && !met(p, l), "%s: no row lets anyone begin or read what would give a task that label", key)
		for _, e := range f.Confirm {
			risk(slices.Contains(f.Deny, e), "%s has %s in confirm and in deny: deny wins", key, e)
		}
		slices.Sort(entries)
		for _, e := range slices.Compact(entries) {
			risk(!holds(p, l, e), "%s has %s: the policy lets nobody do that anyway, or it is misspelt", key, e)
		}
	}
	rows := leaks(p)
	risk(rows != nil && p.Flow[label.Private].Confirm == nil && p.Flow[label.Private].Deny == nil,
		"%s: read_private and a look into the web are allowed, and there is no flow.private: what was read can leave in the address of a page", strings.Join(rows, ", "))
}

// holds reports whether an entry is about any effect that the policy would not reject
// without it.
func holds(p *policy.Policy, l label.Label, entry string) bool {
	without, with := *p, *p
	without.Flow = nil
	with.Flow = map[label.Label]policy.Flow{l: {Deny: []string{entry}}}
	return compare.EffectsDiffer(&without, &with)
}

// row is a row of the matrix with its name.
type row struct {
	policy.Row
	name   string
	trust  terms.Trust // empty: the row is for a sender or domain
	sender string      // or @domain; empty: the row is for a level
}

func rowsOf(p *policy.Policy) (list []row) {
	for _, t := range terms.TrustLevels {
		list = append(list, row{p.Matrix[t], string(t), t, ""})
	}
	for i := range p.Senders {
		list = append(list, row{p.Senders[i].Row, p.Senders[i].Name(), "", p.Senders[i].Sender})
	}
	return list
}

// counts reports whether a row is for senders of a trust level: one of a sender or domain is for the
// levels of the lists that have it.
func (r *row) counts(p *policy.Policy, t terms.Trust) bool {
	switch {
	case r.sender == "":
		return t == r.trust
	case t == terms.OwnerVerifiedEmail:
		return listed(&policy.Policy{Owners: p.Owners}, r.sender)
	case t == terms.ExternalVerified:
		return listed(&policy.Policy{AllowedExternal: p.AllowedExternal}, r.sender)
	}
	return false
}

// met reports whether a task can have a label: because of who may begin one, or because of
// what it may read.
func met(p *policy.Policy, l label.Label) bool {
	for _, r := range rowsOf(p) {
		for _, a := range terms.Actions {
			begins := slices.ContainsFunc(terms.TrustLevels, func(t terms.Trust) bool {
				return r.counts(p, t) && label.Of(t).Use(l) != nil
			})
			if r.Outcome(a) != terms.Reject && (begins || slices.Contains(tools.Labels(p, "", a), l)) {
				return true
			}
		}
	}
	return false
}

// leaks returns the rows that simply allow to read what is private and to look into the
// web.
func leaks(p *policy.Policy) (rows []string) {
	for _, r := range rowsOf(p) {
		web := r.Outcome(terms.ReadPublic) == terms.Allow || looks(p, r)
		if web && r.Outcome(terms.ReadPrivate) == terms.Allow {
			rows = append(rows, "matrix."+r.name)
		}
	}
	return rows
}

// looks reports whether a row simply allows a tool that looks into the web.
func looks(p *policy.Policy, r row) bool {
	return slices.ContainsFunc([]string{"web.fetch", "web.search"}, func(tool string) bool {
		visible, _ := tools.Visible(p, tool)
		return visible && r.Outcome(tools.Action(p, tool)) == terms.Allow
	})
}
