// Package compare says what one policy allows that another does not.
//
// A decision is a pure function of a record and a policy, and a policy can tell only so many
// records apart. So the package makes a record for each way in which either of two policies
// can judge one: each kind of source, sender, proof, recipients and age for mail, of sender
// and chat for platforms, of trust level, action, target, tool, path and command line for
// effects. What patterns tell apart, package glob works out, for all strings and not for
// samples. These records go through the code that pulse-classify and pulse-authorize run,
// under OLD and under NEW, and what is decided otherwise is a difference. It is put down to
// the keys of the policy without which NEW would decide as OLD does.
//
// Where many parts of a record are judged one by one, only what matters is multiplied: two
// senders, proofs or tools that both policies take alike stand for each other, and a demand
// that both policies make alike is left out, because it can only make both stricter.
//
// Invariant: every line about records carries one as its witness, and the outcomes that it
// claims are those of the witness's bytes, read and decided again. Keys that decide nothing
// about a single record, such as caps, are compared by their values.
//
// Caveats. Of a server's verdicts the package knows those that a server writes, alone, twice,
// beside or below another, good and bad (forms in proof.go); how two receivers tell forged
// fields from their own in other mails is not compared, and a line of its own says so. Files
// are as their paths say: links, mounts and what is there are not looked at. If there is too
// much to compare, a line says what was left out, and counts as wider.
package compare

import (
	"slices"

	"pulse/lib/shared/policy"
)

// Policies returns how the policy new differs from old: what it lets go further first, and
// of that what was rejected and is allowed before everything else. It calls load for the
// schemas of both if these have different names.
func Policies(old, new *policy.Policy, load Schemas) ([]Difference, error) {
	if old.Digest != "" && old.Digest == new.Digest {
		return nil, nil
	}
	s := &search{old: old, new: new, found: map[kind]*found{}, weight: weight(old, new)}
	var list []Difference
	for _, space := range spaces {
		err := errTooMany
		if !long(old, new) {
			err = space.look(s)
		}
		if err != nil {
			list = append(list, Difference{Direction: Other, Key: space.key, What: space.name + " was not compared: " + err.Error(), Unknown: true})
		}
	}
	list = append(list, s.receivers()...)
	records, err := s.explained()
	if err != nil {
		return nil, err
	}
	list = append(append(list, records...), values(old, new, load)...)
	slices.SortStableFunc(list, order)
	return list, nil
}

// explained returns the differences that records show.
func (s *search) explained() ([]Difference, error) {
	if len(s.found) == 0 {
		return nil, nil
	}
	e := explain(s.old, s.new)
	for _, f := range s.witnesses() {
		e.add(f)
	}
	return e.differences()
}

// maxRows bounds the rows of single senders, because every sender is looked for in all,
// and maxPairs how often.
const maxRows, maxPairs = 500, 20_000_000

// long reports whether the policies have too many rows of single senders.
func long(old, new *policy.Policy) bool {
	rows, addresses := 0, 0
	for _, p := range []*policy.Policy{old, new} {
		rows += len(p.Senders)
		addresses += len(p.Owners) + len(p.AllowedExternal) + len(p.AcceptAutomatic)
	}
	return rows > maxRows || rows*addresses > maxPairs
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
