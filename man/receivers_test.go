package man

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/policy"
)

var update = flag.Bool("update", false, "write what is made from the presets into pulse(7)")

// TestReceivers holds the table of receivers against the presets. With -update it makes it
// anew.
func TestReceivers(t *testing.T) {
	const page, begin, end = "pulse.7", ".\\\" receivers: made by go test ./man -run TestReceivers -update\n", ".\\\" end of receivers\n"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	made, after, ended := strings.Cut(rest, end)
	text := mdoc()
	switch {
	case !ok || !ended:
		t.Error("the marks are gone")
	case made == text:
	case *update:
		if err := os.WriteFile(page, []byte(before+begin+text+end+after), 0o666); err != nil {
			t.Error(err)
		}
	default:
		t.Error("pulse(7) differs from the presets: go test ./man -run TestReceivers -update")
	}
}

// proven says in words how the owner's mail is proven at a receiver.
func proven(r *receivers.Receiver) (word, own string) {
	word = fmt.Sprintf("verdict %s", r.Verdict)
	switch {
	case r.Verdict == policy.ByNone:
		word, own = "own DKIM check", "always"
	case r.Probed:
		word, own = word+", after a probe", "until then, and where there is none"
	case r.Evidence == policy.ByEither:
		own = "where there is none"
	default:
		own = "not needed"
	}
	if r.OwnCheck != "" {
		own += "; " + r.OwnCheck
	}
	return word, own
}

// mdoc writes an item for each receiver; those of which all the same is known share one.
func mdoc() string {
	var items []string
	names, titles := map[string][]string{}, map[string][]string{}
	for _, r := range receivers.All() {
		text := known(&r)
		if names[text] == nil {
			items = append(items, text)
		}
		names[text] = append(names[text], r.Name)
		titles[text] = append(titles[text], r.Title)
	}
	var b strings.Builder
	b.WriteString(".Bl -tag -width Ds\n")
	for _, text := range items {
		fmt.Fprintf(&b, ".It Cm %s\n%s.\n%s", strings.Join(names[text], " , "), strings.Join(titles[text], "; "), text)
	}
	b.WriteString(".El\n")
	return b.String()
}

// known is what is known of a receiver. What follows from the kind of its verdict is said once,
// above the list.
func known(r *receivers.Receiver) string {
	var b strings.Builder
	word, own := proven(r)
	fmt.Fprintf(&b, "Proven by: %s.\n", word)
	if len(r.IDs) > 0 {
		fmt.Fprintf(&b, "Its name: %s.\n", strings.Join(r.IDs, ", "))
	}
	if own == map[policy.Verdict]string{policy.ByNone: "always", policy.ByFirst: "not needed", policy.BySet: "where there is none"}[r.Verdict] {
		own = ""
	}
	do := r.Do
	if r.Verdict == policy.ByNone && strings.HasPrefix(do, "nothing: ") || r.Verdict == policy.BySet && do == "probe it from inside, as another of its users" {
		do = ""
	}
	for _, line := range []struct{ lead, text string }{
		{"Measured", r.Measured}, {"Only documented", r.Documented}, {"Own DKIM check", own},
		{"Not at all", r.Never}, {"What you accept", r.Risk}, {"To do", do},
	} {
		if line.text != "" {
			fmt.Fprintf(&b, "%s: %s.\n", line.lead, line.text)
		}
	}
	return b.String()
}
