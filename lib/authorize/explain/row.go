package explain

import (
	"pulse/lib/authorize/decision"
	"pulse/lib/shared/terms"
)

// Row returns the lines of the policy that would allow what one sender asks for, by a row of
// that sender alone which keeps all else that is decided today. There are none unless every one
// of the subjects is an ask of a proven sender that nothing but its row leaves to a person, and
// would be allowed then; nor for what reaches the outside, or where the change has a risk.
//
// whole reports that the lines are a new table, to be written at the end of the file. Otherwise
// each says where it stands.
func Row(subjects []Subject) (lines []string, whole bool) {
	var made *Change
	for i := range subjects {
		s := &subjects[i]
		a := s.decide(nil)
		if !a.leftByRow() {
			return nil, false
		}
		if made == nil {
			if made = ownRow(s, &a); made == nil {
				return nil, false
			}
		}
		if n := (&node{s: *s, a: a}).with(*made); n.a.d.Outcome != terms.Allow {
			return nil, false
		}
	}
	if made == nil {
		return nil, false
	}
	return (&Explanation{s: subjects[0]}).table(made)
}

// leftByRow reports whether an ask waits for a person because the row of its proven sender says so.
func (a *answer) leftByRow() bool {
	waits := a.d.Reason == decision.NeedsConfirm || a.d.Reason == decision.NeedsReview
	return waits && a.id.Verified && !a.id.Effect() && !a.d.Action.Outward()
}

// ownRow returns the change of the row of a sender, which may be a new one, or nil.
func ownRow(s *Subject, a *answer) *Change {
	list := rowOfSender(s, a)
	if of := s.Policy.Sender(a.id.Sender); of != nil && of.Sender[0] != '@' && hasOwnRow(a) {
		list = rowAllow(s, a)
	}
	if len(list) == 0 || list[0].Risk != "" {
		return nil
	}
	return &list[0]
}

// table returns the edits of one table as they would stand in the file if none of it is there.
func (x *Explanation) table(c *Change) (lines []string, whole bool) {
	lines = []string{"[" + c.Edits[0].Table + "]"}
	for i := range c.Edits {
		e := &c.Edits[i]
		if x.lineOf(e) != 0 || x.tableLine(e) != 0 {
			return x.edits(c), false
		}
		lines = append(lines, e.Key+" = "+e.Value)
	}
	return lines, true
}
