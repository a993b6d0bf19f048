// Package compare says what one policy allows that another does not.
package compare

import (
	"slices"

	"pulse/lib/shared/policy"
)

// Policies returns how the policy new differs from old: what it lets go further first, and
// of that what was rejected and is allowed before everything else.
func Policies(old, new *policy.Policy) ([]Difference, error) {
	s := &search{old: old, new: new, found: map[kind]*found{}}
	var list []Difference
	for _, space := range spaces {
		if err := space.look(s); err != nil {
			list = append(list, Difference{Direction: Other, Key: space.key, What: space.name + " was not compared: " + err.Error(), Unknown: true})
		}
	}
	e := explain(old, new)
	for _, f := range s.witnesses() {
		e.add(f)
	}
	records, err := e.differences()
	if err != nil {
		return nil, err
	}
	list = append(append(list, records...), values(old, new)...)
	slices.SortStableFunc(list, order)
	return list, nil
}

// order puts wider before narrower before other, and in each the strongest first. What
// shows itself in a record stands before caps.
func order(a, b Difference) int {
	at := func(d *Difference) int {
		return slices.Index([]Direction{Wider, Narrower, Other}, d.Direction)*10 - strength(d.Old, d.New) - min(1, len(d.Witness))
	}
	return at(&a) - at(&b)
}

// spaces are the kinds of records there are.
var spaces = []struct {
	name, key string
	look      func(s *search) error
}{
	{"mail", "receiver", (*search).mails},
	{"what platforms send", "platform", (*search).chats},
	{"what a queue knows of its sender", "matrix", (*search).given},
	{"an effect", "tools", (*search).effects},
}
