package man

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
)

// explained returns what a page says under each item of a list, as plain text.
func (p page) explained(mark string) (list []string) {
	start := slices.Index(p, `.\" list: `+mark) + 2
	end := start + slices.Index(p[start:], ".El")
	for _, line := range p[start:end] {
		if strings.HasPrefix(line, ".It ") {
			list = append(list, strings.Join(items(line), ", ")+":")
			continue
		}
		list[len(list)-1] += " " + unescape.Replace(line)
	}
	return list
}

// pulse-classify(1) has every reason with its advice. The sentence that says what was seen is in
// each record.
func TestReasons(t *testing.T) {
	advice := map[string]string{}
	for _, said := range read(t, "pulse-classify.1").explained("reasons") {
		words, text, _ := strings.Cut(said, ": ")
		for word := range strings.SplitSeq(words, ", ") {
			advice[word] = text
		}
	}
	all := identity.Reasons()
	for _, r := range all {
		if advice[string(r)] != r.Advice() {
			t.Errorf("the page says of %s\n%s\nthe code\n%s", r, advice[string(r)], r.Advice())
		}
	}
	if len(advice) != len(all) {
		t.Errorf("the page has %d reasons, the code %d", len(advice), len(all))
	}
}

// Every reason of a decision has advice for pulse-queue log --why.
func TestDecisionAdvice(t *testing.T) {
	for _, name := range []string{"decision", "tools"} {
		for _, r := range load(t, name).constants(t, ofType("Reason")) {
			if decision.Reason(r).Advice() == "" {
				t.Errorf("%s: there is no advice", r)
			}
		}
	}
}
