package compare

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"pulse/lib/shared/policy"
)

// of returns a proof for each way in which the policies take the proofs of a source. Those
// that come first in the catalogue are taken.
func (all proofs) of(s *search, source string) []proof {
	old, new := s.old, s.new
	was, had := old.Receiver(source)
	is, has := new.Receiver(source)
	was.Source, is.Source = "", ""
	key := fmt.Sprint(was, had, is, has)
	if list, ok := all[key]; ok {
		return list
	}
	alike := had == has && sameNames(was.AuthservIDs, is.AuthservIDs) && was.Verdict == is.Verdict
	s.unlike = s.unlike || !alike
	same := alike && old.Evidence == new.Evidence && old.DKIMAlignment == new.DKIMAlignment && reflect.DeepEqual(old.Recipients, new.Recipients)
	type pair struct{ was, is state }
	seen := map[pair]bool{}
	var list []proof
	try := func(p proof) bool {
		to := []string(nil)
		if p.unsigned == "To" || p.unsigned == "Cc" {
			to = []string{"someone@example.com"}
		}
		if s.looked += s.weight; s.looked > maxRecords || p.form.two && alike {
			return s.looked <= maxRecords
		}
		m := (&letter{source: source, from: "someone@a.example.com", proof: p, to: to}).message()
		k := pair{stateOf(old, m), stateOf(new, m)}
		if !seen[k] {
			seen[k] = true
			list = append(list, p)
		}
		return true
	}
	for _, unsigned := range unsignedOf(old, new, same) {
		for _, signer := range signersOf(old, new, alike) {
			for _, own := range ownOf(old, new) {
				base := proof{signer: signer, own: own, unsigned: unsigned}
				written(base, slices.Concat(was.AuthservIDs, is.AuthservIDs), try)
				if base.second = own != unmade && signer == another; base.second {
					written(base, slices.Concat(was.AuthservIDs, is.AuthservIDs), try)
				}
			}
		}
	}
	all[key] = list
	return list
}

// sameNames reports whether two lists name the same, in any order and any number of times.
func sameNames(a, b []string) bool {
	return slices.Equal(servers(a), servers(b))
}

// receivers returns the line about what proofs leave out, if the receivers differ.
func (s *search) receivers() []Difference {
	if !s.unlike {
		return nil
	}
	key := "receiver"
	if reflect.DeepEqual(s.old.Receivers, s.new.Receivers) {
		if key = "verdict"; s.old.Verdict == s.new.Verdict {
			key = "authserv_id"
		}
	}
	v := valued{old: s.old, new: s.new}
	v.add(Other, key, "mail with more than two verdicts, or with two that differ, was not compared")
	return v.list
}

// written tries every form of verdict, by each of the servers that write so, until try
// reports that it was enough.
func written(base proof, pins []string, try func(p proof) bool) {
	base.form = &noVerdict
	ids := servers(pins)
	more := try(base)
	for i := 0; i < len(forms) && more; i++ {
		p := base
		if p.form = &forms[i]; p.form.bare {
			more = try(p)
			continue
		}
		for _, p.id = range ids {
			switch {
			case !more || !strings.Contains(p.id, p.form.when):
			case !p.form.two:
				more = try(p)
			default:
				for _, p.other = range ids {
					if more && p.other != p.id {
						more = try(p)
					}
				}
				p.other = ""
			}
		}
	}
}

// servers returns names that the pins believe. What stands for * has one label and two,
// because some receivers write the one and some the other.
func servers(pins []string) (ids []string) {
	for _, pin := range pins {
		if suffix, ok := strings.CutPrefix(pin, "*"); ok {
			ids = append(ids, "mx"+suffix, "mx.a"+suffix)
		} else {
			ids = append(ids, pin)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// unsignedOf returns the fields whose signature makes a difference between the policies. If
// both go by the same fields and take the same proofs, none does: what makes mail wait then
// makes it wait under both.
func unsignedOf(old, new *policy.Policy, sameProofs bool) []string {
	list := []string{""}
	for _, f := range []string{"To", "Cc", "Subject", "Date"} {
		accepted, accepts := slices.Contains(old.AcceptUnsigned, f), slices.Contains(new.AcceptUnsigned, f)
		if !sameProofs || old.Relies(f) != new.Relies(f) || accepted != accepts {
			list = append(list, f)
		}
	}
	return list
}

// signersOf returns the signers that the policies may take differently. alike says that both
// have the same receiver.
func signersOf(old, new *policy.Policy, alike bool) []signer {
	if alike && old.DKIMAlignment == new.DKIMAlignment && old.Evidence == new.Evidence {
		return []signer{itself}
	}
	return []signer{itself, child, parent, another}
}

// ownOf returns the results of pulse's own check that the policies may take differently.
func ownOf(old, new *policy.Policy) []own {
	if old.Evidence == policy.ByAuthRes && new.Evidence == policy.ByAuthRes {
		return []own{unmade}
	}
	return []own{good, bad, later}
}
