// Package audience holds who is known to have seen a text, so that a message that goes to
// nobody else reveals nothing (WHAT MAY FOLLOW WHAT WAS READ in pulse-policy(5)). What is made
// of several texts has the intersection of their audiences.
//
// Invariant: an audience only shrinks: nothing here adds to one. The zero value is nobody, which
// is the audience of what has no known origin. Only addresses that a proof covers may be put
// into Of. Caveat: whoever has seen a text may not have seen what stands beside it in a file.
package audience

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/record"
)

// Max is how many addresses an audience has at most. Of leaves out what is beyond it: a
// smaller audience allows less.
const Max = 100

// The words for all and for none; a record has only the first.
const (
	anyone = "anyone"
	nobody = "nobody"
)

// Audience is a set of mail addresses.
type Audience struct {
	all  bool
	list []string // folded and sorted
}

// Anyone is the audience of what nobody has to keep to themselves.
var Anyone = Audience{all: true}

// Of returns the audience of some addresses. What is not a plain address is left out.
func Of(addresses ...string) Audience {
	var list []string
	for _, a := range addresses {
		if _, _, err := address.Split(a); err == nil && !address.Relayed(a) {
			list = append(list, address.Fold(a))
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return Audience{list: list[:min(len(list), Max)]}
}

// Intersect returns the audience of what is made of a text of each.
func (a Audience) Intersect(b Audience) Audience {
	switch {
	case a.all:
		return b
	case b.all:
		return a
	}
	return Audience{list: slices.DeleteFunc(slices.Clone(a.list), func(one string) bool { return !b.has(one) })}
}

func (a Audience) has(folded string) bool {
	_, found := slices.BinarySearch(a.list, folded)
	return a.all || found
}

// Beyond returns the targets that are not in the audience. A target that is not a plain address
// never is, unless the audience is Anyone.
func (a Audience) Beyond(targets []string) (out []string) {
	for _, t := range targets {
		if !a.has(address.Fold(t)) {
			out = append(out, t)
		}
	}
	return out
}

// Append appends the audience: an array of addresses, or the word "anyone".
func (a Audience) Append(dst []byte) []byte {
	if a.all {
		return record.AppendString(dst, anyone)
	}
	return record.List(dst, a.list, func(one *string, dst []byte) []byte { return record.AppendString(dst, *one) })
}

// ErrForm means that a value is not what Append writes.
var ErrForm = errors.New("audience: want \"anyone\", or at most 100 plain addresses")

// Decode reads what Append wrote.
func Decode(v record.Value) (Audience, error) {
	if word, err := v.String(); err == nil {
		if word != anyone {
			return Audience{}, fmt.Errorf("%w: %q", ErrForm, word)
		}
		return Anyone, nil
	}
	var list []string
	err := v.Elements(func(i int, v record.Value) error {
		one, err := v.String()
		if err == nil && (i >= Max || len(Of(one).list) == 0) {
			err = ErrForm
		}
		list = append(list, one)
		return err
	})
	if err != nil {
		return Audience{}, err
	}
	return Of(list...), nil
}

// None reports whether nobody is in it.
func (a Audience) None() bool { return !a.all && len(a.list) == 0 }

// Words returns the addresses, or the word for none or for all.
func (a Audience) Words() []string {
	switch {
	case a.all:
		return []string{anyone}
	case a.None():
		return []string{nobody}
	}
	return slices.Clone(a.list)
}

// String returns the audience in one line, as Few does.
func (a Audience) String() string { return Few(a.Words()) }

// Few joins the first five addresses of a list, and says how many more there are.
func Few(list []string) string {
	const most = 5
	if len(list) > most {
		list = append(slices.Clone(list[:most]), fmt.Sprintf("%d more", len(list)-most))
	}
	return strings.Join(list, ", ")
}
