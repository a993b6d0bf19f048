package replay

import (
	"cmp"
	"fmt"

	"pulse/lib/authorize/compare"
	"pulse/lib/authorize/decision"
	"pulse/lib/shared/record"
)

// Difference is one record from which something else follows under another policy.
type Difference struct {
	Direction compare.Direction
	Task      string // its id; empty: the queue does not know the record
	Where     string // where the record comes from, or stands
	Subject   string // empty: not to be shown, or there is none
	Old, New  Answer
	Changes   []compare.Change
}

// Compare compares two answers, and reports whether anything differs. Which person is asked
// for, and why, is no difference of what may happen: Other is for that, and for another action
// that is let through. What may be either way counts as wider.
func (d *Difference) Compare(f *compare.Follower) (differs bool, err error) {
	d.Changes, err = f.Changes(&d.Old.Decision, &d.New.Decision)
	d.Direction = compare.Other
	for i := range d.Changes {
		if way := d.Changes[i].Direction(); way == compare.Wider || d.Direction == compare.Other {
			d.Direction = way
		}
	}
	return len(d.Changes) > 0, err
}

// beyond returns the changes of what follows besides the outcome.
func (d *Difference) beyond() []compare.Change {
	if len(d.Changes) > 0 && d.Changes[0].Old.Name == decision.OutcomeAspect {
		return d.Changes[1:]
	}
	return d.Changes
}

// String returns the difference as one line, which has to be escaped before it is shown.
func (d *Difference) String() string {
	was, is := &d.Old, &d.New
	name, sender, action := cmp.Or(d.Task, d.Where), cmp.Or(is.Identity.Sender, "-"), string(is.Decision.Action)
	if before := string(was.Decision.Action); before != action {
		action = before + " -> " + action
	}
	s := fmt.Sprintf("%s %s %s %s: %s -> %s (%s -> %s)", d.Direction, name, sender, action,
		was.Decision.Outcome, is.Decision.Outcome, was.reasons(), is.reasons())
	for _, c := range d.beyond() {
		s += "; " + c.String()
	}
	if d.Subject != "" {
		s += " " + d.Subject
	}
	return s
}

// reasons returns why the answer is what it is: that of the identity, if it has one, and
// that of the decision.
func (a *Answer) reasons() string {
	if a.Identity.Reason == "" {
		return string(a.Decision.Reason)
	}
	return fmt.Sprintf("%s, %s", a.Identity.Reason, a.Decision.Reason)
}

// Append appends the difference as an object.
func (d *Difference) Append(dst []byte) []byte {
	o := record.ObjectAfter(dst)
	o.Str("direction", string(d.Direction))
	o.StrIf("task", d.Task)
	o.Str("where", d.Where)
	o.Str("sender", d.New.Identity.Sender)
	o.Str("action", string(d.New.Decision.Action))
	o.StrIf("subject", d.Subject)
	o.Str("old", string(d.Old.Decision.Outcome))
	o.Str("new", string(d.New.Decision.Outcome))
	o.Raw("before", d.Old.bytes())
	o.Raw("after", d.New.bytes())
	if more := d.beyond(); len(more) > 0 {
		o.Raw("follows", record.List(nil, more, (*compare.Change).Append))
	}
	return o.Bytes()
}

// bytes returns the answer as an object: the words of both members.
func (a *Answer) bytes() []byte {
	var o record.Object
	o.Str("trust", string(a.Identity.Trust))
	o.Str("identity_reason", string(a.Identity.Reason))
	o.Str("action", string(a.Decision.Action))
	o.Str("outcome", string(a.Decision.Outcome))
	o.Str("rule", a.Decision.Rule)
	o.Str("reason", string(a.Decision.Reason))
	return o.Bytes()
}
