package compare

import (
	"slices"
	"strings"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/glob"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
)

// usual is where mail comes from, if the policies do not ask.
const usual = "imaps://me@imap.example.com/INBOX"

// sourcesOf returns a source of mail for each way in which the policies can tell sources
// apart.
func sourcesOf(old, new *policy.Policy) ([]string, error) {
	var patterns []glob.Pattern
	for _, p := range []*policy.Policy{old, new} {
		for _, r := range p.Receivers {
			patterns = append(patterns, glob.Pattern{Text: r.Source, Kind: glob.Any})
		}
		for _, r := range p.ActionRules {
			if r.Source != "" {
				patterns = append(patterns, glob.Pattern{Text: r.Source, Kind: glob.Any})
			}
		}
		for i := range p.Platforms {
			patterns = append(patterns, glob.Pattern{Text: p.Platforms[i].Source, Kind: glob.Exact})
		}
	}
	patterns = distinct(patterns)
	classes, err := glob.Classes(patterns, glob.Sources)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, c := range classes {
		if source := looks(c, patterns); isMail(source, old, new) {
			list = append(list, source)
		}
	}
	return list, nil
}

func distinct(list []glob.Pattern) (out []glob.Pattern) {
	seen := map[glob.Pattern]bool{}
	for _, p := range list {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// looks returns a source of the class that looks like one, if there is one at hand.
func looks(c glob.Class, patterns []glob.Pattern) string {
	tries := []string{usual}
	for _, p := range patterns[:min(len(patterns), 20)] {
		tries = append(tries, strings.ReplaceAll(p.Text, "*", ""), strings.ReplaceAll(p.Text, "*", "INBOX"))
	}
	for _, s := range tries {
		in := func(i int) bool {
			p := patterns[i]
			return c.Matches[i] == (p.Text == s || p.Kind == glob.Any && policy.Match(p.Text, s))
		}
		fits := s != ""
		for i := 0; i < len(patterns) && fits; i++ {
			fits = in(i)
		}
		if fits {
			return s
		}
	}
	return c.Example
}

// isMail reports whether mail can come from a source. What a platform of one of the
// policies sends is no mail, unless its name is that of a mailbox.
func isMail(source string, policies ...*policy.Policy) bool {
	for _, prefix := range []string{"imap:", "imaps:", "jmap:", "gmail:", "maildir:", "mbox:", "file:"} {
		if strings.HasPrefix(source, prefix) {
			return true
		}
	}
	return !strings.HasPrefix(source, policy.WebhookPrefix) &&
		!slices.ContainsFunc(policies, func(p *policy.Policy) bool { return p.Platform(source) != nil })
}

// recipientsOf returns lists of recipients, one for each way in which the policies can
// judge one in mail of a source.
func (s *search) recipientsOf(source string) (list [][]string, err error) {
	old, new := s.old, s.new
	if !old.Relies("To") && !new.Relies("To") {
		return [][]string{nil}, nil
	}
	both := []*policy.Policy{old, new}
	var known []string
	for _, p := range both {
		known = append(known, p.Recipients...)
		for _, r := range p.ActionRules {
			if r.To != "" {
				known = append(known, r.To)
			}
		}
	}
	known = append(known, "others@unlisted.invalid")
	tries := [][]string{nil}
	for _, to := range known {
		tries = append(tries, []string{to})
	}
	for _, to := range known {
		tries = append(tries, []string{to, to})
	}
	s.looked += len(tries) * (1 + (len(old.ActionRules)+len(new.ActionRules))/200) / 30
	if err := s.enough(); err != nil {
		return nil, err
	}
	sets := []addresses{addressesOf(old.Recipients), addressesOf(new.Recipients)}
	seen := map[[5]string]bool{}
	for _, to := range tries {
		var key [5]string
		if len(to) > 0 {
			key[4] = "there" // so it can be unsigned
		}
		for i, p := range both {
			ours := len(to) > 0 && !slices.ContainsFunc(to, func(a string) bool { return !sets[i].has(a) })
			if p.Recipients == nil || ours {
				key[i] = "addressed"
			}
			d := decision.Decide(decision.Input{Identity: &identity.Identity{}, Source: source, Recipients: to, Policy: p})
			key[2+i] = string(d.Action)
		}
		if !seen[key] {
			seen[key] = true
			list = append(list, to)
		}
	}
	return list, nil
}
