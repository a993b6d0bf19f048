package replay

import (
	"cmp"
	"fmt"

	"pulse/lib/authorize/compare"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// Difference is one record that two policies decide otherwise.
type Difference struct {
	Direction compare.Direction
	Task      string // its id; empty: the queue does not know the record
	Where     string // where the record comes from, or stands
	Subject   string // empty: not to be shown, or there is none
	Old, New  Answer
}

// Compare returns in which direction two answers differ; "" if they don't. Which person is
// asked for, and why, is no difference of what may happen: Other is for that, and for
// another action that is let through.
func Compare(old, new *Answer) compare.Direction {
	was, is := &old.Decision, &new.Decision
	switch way := compare.Way(was.Outcome, is.Outcome); {
	case way != compare.Other:
		return way
	case was.Outcome != is.Outcome, was.Action != is.Action && is.Outcome != terms.Reject:
		return compare.Other
	}
	return ""
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
