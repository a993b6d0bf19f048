package compare

import (
	"slices"
	"strings"

	"pulse/lib/authorize/decision"
	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
)

// targetsOf returns targets, one for each way in which the policies judge one; the first is
// none. What neither allows goes nowhere under both.
func targetsOf(old, new *policy.Policy) [][]string {
	list := [][]string{nil}
	judges := []reach{reachOf(old), reachOf(new)}
	judged := map[[2]bool]bool{{false, false}: true}
	for _, t := range someTargets(old, new) {
		key := [2]bool{judges[0].to(t), judges[1].to(t)}
		if !judged[key] {
			judged[key] = true
			list = append(list, []string{t})
		}
	}
	return list
}

// oddNumber is a number that is no id of any scheme. Where a bare number is only a name, it is
// a name like others.
const oddNumber = "007"

// someTargets returns every target that the policies name, one below each entry that stands for
// many, each id as the bare number that it may be written as, and two that nobody names.
func someTargets(old, new *policy.Policy) []string {
	tries := []string{"someone@unlisted.invalid", oddNumber}
	seen := addresses{}
	entries := slices.Concat(new.Outbound.Allow, old.Outbound.Allow)
	for _, a := range entries {
		if seen[address.Fold(a)] = true; a[0] != '@' && !strings.HasSuffix(a, "*") {
			tries = append(tries, a)
		}
		if id, ok := strings.CutPrefix(a, address.Telegram+":"); ok {
			tries = append(tries, id)
		}
	}
	for _, a := range entries {
		name := "someone"
		for t, many := address.Below(a, name); many; t, _ = address.Below(a, name) {
			if !seen[address.Fold(t)] {
				tries = append(tries, t)
				break
			}
			name += "e"
		}
	}
	return tries
}

// reach is where a policy lets effects go, made to be asked often.
type reach struct {
	restricted bool
	open       *policy.Policy  // the same without its list
	each       map[string]bool // entries that are no pattern, in the form of targets
	below      []string
}

func reachOf(p *policy.Policy) reach {
	open := *p
	open.Outbound.Restricted = false
	r := reach{restricted: p.Outbound.Restricted, open: &open, each: map[string]bool{}}
	for _, a := range p.Outbound.Allow {
		if strings.HasSuffix(a, "*") {
			r.below = append(r.below, a)
		}
		r.each[p.Outbound.Form(a)] = true
	}
	return r
}

// to reports whether nothing bars a target.
func (r reach) to(target string) bool {
	form := r.open.Outbound.Form(target)
	domain := form[strings.IndexByte(form, '@')+1:]
	listed := r.each[form] || r.each["@"+domain] && !strings.Contains(form, ":") ||
		slices.ContainsFunc(r.below, func(entry string) bool { return address.Lets(entry, form) })
	return (listed || !r.restricted) && decision.Barred(r.open, target) == ""
}
