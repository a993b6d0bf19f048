package man

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
)

// sentences returns identity.why of each reason, in the order of Reasons, with
// "..." for what was seen.
func sentences(t *testing.T) (list []string) {
	t.Helper()
	for _, f := range load(t, "identity") {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || spec.Names[0].Name != "explanations" {
				return true
			}
			for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
				why := e.(*ast.CompositeLit).Elts[1].(*ast.BasicLit)
				list = append(list, strings.ReplaceAll(text(why), "%s", "..."))
			}
			return false
		})
	}
	return list
}

// explained returns what a page says under each item of a list, as plain text.
func (p page) explained(mark string) (list []string) {
	start := slices.Index(p, `.\" list: `+mark) + 2
	end := start + slices.Index(p[start:], ".El")
	for _, line := range p[start:end] {
		if strings.HasPrefix(line, ".It ") {
			list = append(list, item(line)+":")
			continue
		}
		if em, ok := strings.CutPrefix(line, ".Em "); ok {
			line = em
			if end, ok := strings.CutSuffix(em, " ."); ok {
				line = end + "."
			}
		}
		list[len(list)-1] += " " + unescape.Replace(line)
	}
	return list
}

// pulse-classify(1) has every reason, in the order of the checks, with the
// sentence that people see and the advice.
func TestReasons(t *testing.T) {
	got := read(t, "pulse-classify.1").explained("reasons")
	why := sentences(t)
	for i, r := range identity.Reasons() {
		stop := "."
		if strings.HasSuffix(why[i], "...") {
			stop = ""
		}
		want := string(r) + ": " + why[i] + stop + " " + r.Advice()
		if i >= len(got) || got[i] != want {
			t.Fatalf("the page says\n%s\nthe code\n%s", strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""), want)
		}
	}
	if len(got) != len(why) {
		t.Errorf("the page has %d reasons, the code %d", len(got), len(why))
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
