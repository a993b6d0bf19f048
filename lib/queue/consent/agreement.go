package consent

import (
	"slices"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/policy"
)

// Agreement is whose yes a task needs. A task that came when two were wanted needs two, whatever
// the policy of the moment says, and that policy may want more.
type Agreement struct {
	rows   []policy.ApprovalRow // none: anyone's
	author string
	holds  func(name string) approval.Holder
}

// AgreementOf returns whose yes a task of an author needs by these rows, if count were wanted when
// it came. holds returns the account or login of a name.
func AgreementOf(rows []policy.ApprovalRow, count int, author string, holds func(string) approval.Holder) *Agreement {
	if count > 1 {
		rows = append(slices.Clip(rows), came(rows, count))
	}
	return &Agreement{rows, author, holds}
}

// Anyone reports whether one yes is enough, whoever gives it.
func (g *Agreement) Anyone() bool { return len(g.rows) == 0 }

// came is the row for a task that needed count yeses when it came: any approvers of today's rows may
// give them.
func came(rows []policy.ApprovalRow, count int) policy.ApprovalRow {
	all, anyone := policy.ApprovalRow{Count: count}, len(rows) == 0
	for i := range rows {
		all.NotAuthor, anyone = all.NotAuthor || rows[i].NotAuthor, anyone || rows[i].Approvers == nil
		all.Approvers = append(all.Approvers, rows[i].Approvers...)
	}
	if anyone {
		all.Approvers = nil
	}
	return all
}

// Lacks says whose yes is missing besides those of some people; the empty string: none.
func (g *Agreement) Lacks(people ...*Person) string {
	for i := range g.rows {
		row := &g.rows[i]
		var count []*Person
		for _, one := range people {
			same := func(other *Person) bool { return g.same(one, other, row.Approvers != nil) }
			if g.may(row, one) && !slices.ContainsFunc(count, same) {
				count = append(count, one)
			}
		}
		if len(count) < row.Count {
			return g.wants(row, count)
		}
	}
	return ""
}

// Helps reports whether somebody's yes is one of those that are needed.
func (g *Agreement) Helps(one *Person) bool {
	return slices.ContainsFunc(g.rows, func(row policy.ApprovalRow) bool { return g.may(&row, one) })
}

// wants says whose yes a row wants besides those that count.
func (g *Agreement) wants(row *policy.ApprovalRow, count []*Person) string {
	left := *row
	left.Approvers = slices.DeleteFunc(slices.Clone(row.Approvers), func(name string) bool {
		return slices.ContainsFunc(count, func(one *Person) bool { return g.is(one, name) })
	})
	return left.Wants(len(count))
}
