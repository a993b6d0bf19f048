package man

import (
	"flag"
	"fmt"
	"os"
	"regexp"
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
	b.WriteString(".Bl -tag -width Ds -compact\n")
	for _, text := range items {
		fmt.Fprintf(&b, ".It Cm %s\n%s: %s.\n", quoted(names[text]), strings.Join(titles[text], "; "), text)
	}
	b.WriteString(".El\n")
	return b.String()
}

// counts are what was measured at most receivers, which the page says once.
var counts = regexp.MustCompile(`(\d+) of (\d+) genuine mails verified( with [A-Z]+[a-z]*'s)?, (\d+) of (\d+) forged; (?:its fields?|a field|dmarc) on (\d+) of (\d+)`)

// known is how the owner's mail is proven at a receiver, what that calls itself, and what was
// measured. The rest is printed by init --receiver NAME.
func known(r *receivers.Receiver) string {
	text := fmt.Sprintf("verdict %s", r.Verdict)
	switch {
	case r.Verdict == policy.ByNone:
		text = "own DKIM check"
	case r.Probed:
		text += " after a probe, else own DKIM check"
	case r.Evidence == policy.ByEither:
		text += " or own DKIM check"
	}
	if len(r.IDs) > 0 {
		text += ", " + strings.Join(r.IDs, ", ")
	}
	if r.Measured != "" {
		text += "; " + counts.ReplaceAllString(r.Measured, "$1/$2$3, $4/$5, $6/$7")
	}
	return text
}

// quoted writes words in a row as one argument of a macro.
func quoted(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return `"` + strings.Join(words, ", ") + `"`
}
