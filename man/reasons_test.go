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
			list = append(list, item(line)+":")
			continue
		}
		list[len(list)-1] += " " + unescape.Replace(line)
	}
	return list
}

// pulse-classify(1) has every reason, in the order of the checks, with its advice. The sentence
// that says what was seen is in each record.
func TestReasons(t *testing.T) {
	got := read(t, "pulse-classify.1").explained("reasons")
	all := identity.Reasons()
	for i, r := range all {
		if want := string(r) + ": " + r.Advice(); i >= len(got) || got[i] != want {
			t.Fatalf("the page says\n%s\nthe code\n%s", strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""), want)
		}
	}
	if len(got) != len(all) {
		t.Errorf("the page has %d reasons, the code %d", len(got), len(all))
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
