// Package label holds what is known of the material that a root task has touched: whether
// text of anyone but an owner was read in it, and whether something private was. All tasks
// that come from it, and the tools of their workers, inherit its labels, and [flow] of the
// policy says what may not follow (pulse-policy(5)).
//
// Invariant: a set only grows. Caveat: a label says what was allowed to be read, and not
// what was done with it.
package label

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// Label is a word of identity.labels.
type Label string

// The labels.
const (
	Private   Label = "private"   // a read_private was allowed
	Untrusted Label = "untrusted" // text of anyone but an owner was read
)

// All lists the labels, sorted.
var All = []Label{Private, Untrusted}

// Use is what gave a root task a label first.
type Use struct {
	Label Label
	By    string    // a tool, an action, or the trust level of the sender
	Task  string    // in which it was allowed; empty: as soon as the root task came
	At    time.Time // zero: as soon as the root task came
}

// Set holds a Use for each label that a task has, sorted.
type Set []Use

// With returns the set with a label, and whether it had not been there. What gave a label
// first stays.
func (s Set) With(u Use) (Set, bool) {
	i, found := slices.BinarySearchFunc(s, u.Label, func(u Use, l Label) int { return cmp.Compare(u.Label, l) })
	if found {
		return s, false
	}
	return slices.Insert(slices.Clone(s), i, u), true
}

// Union returns the set with all labels of another one.
func (s Set) Union(other Set) Set {
	for _, u := range other {
		s, _ = s.With(u)
	}
	return s
}

// Use returns what gave the set a label, or nil.
func (s Set) Use(l Label) *Use {
	for i := range s {
		if s[i].Label == l {
			return &s[i]
		}
	}
	return nil
}

// Words returns the labels alone.
func (s Set) Words() []string {
	var words []string
	for _, u := range s {
		words = append(words, string(u.Label))
	}
	return words
}

// Named returns the set with labels of which only the words are known. It fails on a word
// that it does not know.
func (s Set) Named(words []string) (Set, error) {
	for _, w := range words {
		if !slices.Contains(All, Label(w)) {
			return s, fmt.Errorf("%w: %q", ErrUnknown, w)
		}
		s, _ = s.With(Use{Label: Label(w)})
	}
	return s, nil
}

// Of returns the labels that a root task has because of who sent it.
func Of(t terms.Trust) Set {
	switch t {
	case terms.OwnerVerifiedEmail, terms.ApprovedSession, terms.System:
		return nil
	}
	return Set{{Label: Untrusted, By: string(t)}}
}

// Append appends the set as an array of objects.
func (s Set) Append(dst []byte) []byte {
	return record.List(dst, s, func(u *Use, dst []byte) []byte {
		o := record.ObjectAfter(dst)
		o.Str("label", string(u.Label))
		o.StrIf("by", u.By)
		o.StrIf("task", u.Task)
		o.Time("at", u.At)
		return o.Bytes()
	})
}

// ErrUnknown means that a word is not a label.
var ErrUnknown = errors.New("label: no such label")

// Decode reads what Append wrote. It fails on a label that it does not know: what a newer
// version forbids must not be allowed here.
func Decode(v record.Value) (s Set, err error) {
	err = v.Elements(func(_ int, v record.Value) error {
		var u Use
		err := v.Each(record.To(
			"label", (*string)(&u.Label), "by", &u.By, "task", &u.Task, "at", &u.At,
		))
		if err == nil && !slices.Contains(All, u.Label) {
			err = fmt.Errorf("%w: %q", ErrUnknown, u.Label)
		}
		s, _ = s.With(u)
		return err
	})
	return s, err
}

// String returns the labels in one line, each with what gave it, such as
// "private (fs.read in 9f86d081884c7d659a2feaa0c55ad015)".
func (s Set) String() string {
	var parts []string
	for _, u := range s {
		parts = append(parts, u.String())
	}
	return strings.Join(parts, ", ")
}

// String returns the label with what gave it.
func (u Use) String() string {
	text := string(u.Label)
	switch {
	case u.By != "" && u.Task != "":
		text += " (" + u.By + " in " + u.Task + ")"
	case u.By != "":
		text += " (" + u.By + ")"
	}
	return text
}
