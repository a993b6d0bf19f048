package policy

import (
	"slices"
	"strconv"
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/terms"
)

// Row is a row of the matrix. An action that it does not name is rejected.
type Row map[terms.Action]terms.Outcome

// SenderRow is the row of one sender, or of all senders of a domain.
type SenderRow struct {
	Sender string // an address or @domain, as the file has it
	Row    Row
	Tools  []string // globs of the tools that effects for the sender may use; nil: not narrowed
}

// Name returns the row as it stands after "matrix." in the file and in a rule.
func (r *SenderRow) Name() string { return strconv.Quote(r.Sender) }

// Outcome returns the row's outcome for an action.
func (r Row) Outcome(a terms.Action) terms.Outcome {
	if o, ok := r[a]; ok {
		return o
	}
	return terms.Reject
}

// Sender returns the row of a sender, the one of the address before the one of its
// domain, or nil if there is none. It does not ask whether the sender is proven.
func (p *Policy) Sender(sender string) (of *SenderRow) {
	for i := range p.Senders {
		switch row := &p.Senders[i]; {
		case !address.Listed([]string{row.Sender}, sender):
		case row.Sender[0] != '@':
			return row
		default:
			of = row
		}
	}
	return of
}

// Row returns the row that counts for a sender of a trust level, and its name as it
// stands after "matrix." in a rule. The row of one sender stands in for those of
// owner_verified_email and external_verified, and for no other.
func (p *Policy) Row(t terms.Trust, sender string) (row Row, name string) {
	if t == terms.OwnerVerifiedEmail || t == terms.ExternalVerified {
		if of := p.Sender(sender); of != nil {
			return of.Row, of.Name()
		}
	}
	return p.Matrix[t], string(t)
}

// matrix reads the rows, in the order of the file.
func (v *validator) matrix(p *Policy, rows map[string]matrix) {
	for _, e := range v.lines.outline.Entries {
		if len(e.Names) < 2 || e.Names[0] != "matrix" {
			continue
		}
		name := e.Names[1]
		t, there := rows[name]
		if !there {
			continue // read by an earlier key of the row
		}
		delete(rows, name)
		key := path(e.Names[:2])
		row := Row{}
		v.row(row, key+".allow", t.Allow, terms.Allow)
		v.row(row, key+".require_owner_confirmation", t.Confirm, terms.Confirm)
		v.row(row, key+".queue_for_review", t.Review, terms.Review)
		switch {
		case strings.Contains(name, "@"):
			v.sender(p, key, SenderRow{name, row, t.Tools.Allow})
		case !terms.Trust(name).Valid():
			v.fail(key, "unknown trust level: want one of %s, or the address or @domain of a sender",
				join(terms.TrustLevels))
		case t.Tools.Allow != nil:
			v.fail(key+".tools.allow", "is for the row of one sender: [tools] says it for all")
		default:
			p.Matrix[terms.Trust(name)] = row
		}
	}
}

func (v *validator) sender(p *Policy, key string, row SenderRow) {
	v.address(key, row.Sender, true)
	v.toolGlobs(key+".tools.allow", row.Tools...)
	again := func(o SenderRow) bool { return address.Equal(o.Sender, row.Sender) }
	if i := slices.IndexFunc(p.Senders, again); i >= 0 {
		v.fail(key, "the sender has a row already, [matrix.%s]: capitals make no difference", p.Senders[i].Name())
	}
	p.Senders = append(p.Senders, row)
}

func (v *validator) row(row Row, key string, list []string, outcome terms.Outcome) {
	for i, word := range list {
		key, a := at(key, i), terms.Action(word)
		if !a.Valid() {
			v.fail(key, "%s is none of %s", word, join(terms.Actions))
		}
		if before, twice := row[a]; twice {
			v.fail(key, "%s is listed twice in this row (%s)", word, before)
		}
		row[a] = outcome
	}
}
