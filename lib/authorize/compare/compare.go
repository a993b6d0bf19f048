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
// claims are those of the witness's bytes: the tests read and decide them again. Keys that decide nothing
// about a single record, such as caps, are compared by their values.
//
// Caveats. Of a server's verdicts the package knows those that a server writes, alone, twice,
// beside or below another, good and bad (forms in proof.go); how two receivers tell forged
// fields from their own in other mails is not compared, and a line of its own says so. Files
// are as their paths say: links, mounts and what is there are not looked at. Of what
// else two schemas let through nothing is compared. If that, or too much to compare, is left out, a
// line says so, and counts as wider.
package compare

import (
	"slices"

	"pulse/lib/authorize/decision"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/trace"
)

// Policies returns how the policy new differs from old: what it lets go further first, and
// of that what was rejected and is allowed before everything else. It calls load for the
// schemas of both if these have different names.
func Policies(old, new *policy.Policy, load Schemas) []Difference {
	if old.Digest != "" && old.Digest == new.Digest {
		return nil
	}
	s, list := searched(old, new)
	list = slices.Concat(list, s.receivers(), s.explained(), values(old, new, load))
	slices.SortStableFunc(list, order)
	return list
}

// searched returns the records that show differences, and a line for each kind that was not compared.
func searched(old, new *policy.Policy) (s *search, list []Difference) {
	s = newSearch(old, new)
	for _, space := range spaces {
		err := errTooMany
		if !long(old, new) {
			err = space.look(s)
		}
		if err != nil {
			list = append(list, Difference{Direction: Other, Key: space.key, What: space.name + " was not compared: " + err.Error(), Unknown: true})
		}
	}
	return s, list
}

// explained returns the differences that records show.
func (s *search) explained() (list []Difference) {
	if s.unknown != nil {
		list = append(list, Difference{Direction: Other, Key: "tools", What: "what workers may do for senders whom the policies trust differently was not compared: " + s.unknown.Error(), Unknown: true})
	}
	type line struct {
		key
		was, is decision.Aspect
	}
	seen := map[line]bool{}
	for _, f := range s.witnesses() {
		it := line{s.key(f), f.was.Aspect, f.is.Aspect}
		if seen[it] {
			continue
		}
		seen[it] = true
		list = append(list, f.difference(it.key))
	}
	return list
}

// key returns the key by which the record differs.
func (s *search) key(f *found) key {
	was, before := f.traces(s.old)
	is, after := f.traces(s.new)
	k, found := s.cause(was, is)
	switch {
	case found:
	case f.was.Name == decision.TextAspect:
		k = at(s.old, s.new, "extract.require", 0)
	case f.was.Name == decision.OutcomeAspect, f.given == nil || !f.given.Effect():
		k, _ = s.cause(before, after)
	default: // labels of an effect, and whether a grant may be its yes
		steps := []trace.Step{{Key: "tools.action"}, {Key: "tools.allow"}}
		for _, u := range decision.Labels(f.given) {
			steps = append(steps, trace.Step{Key: "flow." + string(u.Label) + ".confirm"})
		}
		steps = append(steps, trace.Step{Key: "owners"})
		k = pick(s.old, s.new, steps)
	}
	return k
}

func (f *found) difference(k key) Difference {
	d := Difference{
		Direction: Way(f.was.Aspect, f.is.Aspect), Key: k.name, File: k.file, Line: k.line,
		What: f.what, Old: f.was.Aspect, New: f.is.Aspect, Witness: f.record,
	}
	switch {
	case f.change.act != nil:
		d.What += ": " + f.change.act.what()
	case f.was.Name != decision.OutcomeAspect:
	case f.request != nil && f.request.Tool != "":
		d.What += " as " + string(f.is.action)
	default:
		d.What += ": " + string(f.is.action)
	}
	if f.was.action != f.is.action && f.was.Name == decision.OutcomeAspect {
		d.What += " instead of " + string(f.was.action)
	}
	return d
}

// strength orders changes, from reject -> allow down to a change that is neither wider nor
// narrower.
func strength(was, is decision.Aspect) int {
	switch far, near := max(was.Reach, is.Reach), min(was.Reach, is.Reach); {
	case far == near:
		return 0
	case far == 2 && near == 0:
		return 3
	case near == 0:
		return 2
	}
	return 1
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

// order puts wider before narrower before other, and in each decisions before what else
// follows from a record before what shows itself in none, and the strongest first.
func order(a, b Difference) int {
	at := func(d *Difference) int {
		n := slices.Index([]Direction{Wider, Narrower, Other}, d.Direction)*100 - strength(d.Old, d.New)
		switch d.Old.Name {
		case decision.OutcomeAspect:
			return n - 20
		case "":
			return n
		}
		return n - 10
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
