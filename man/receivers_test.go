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

var update = flag.Bool("update", false, "write what is made from the presets into the README and pulse(7)")

// TestReceivers holds the tables of receivers against the presets. With -update it makes
// them anew.
func TestReceivers(t *testing.T) {
	for _, page := range []struct{ name, begin, end, text string }{
		{"../README.md", "<!-- receivers: made by go test ./man -run TestReceivers -update -->\n", "<!-- end of receivers -->\n", markdown()},
		{"pulse.7", ".\\\" receivers: made by go test ./man -run TestReceivers -update\n", ".\\\" end of receivers\n", mdoc()},
	} {
		b, err := os.ReadFile(page.name)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, ok := strings.Cut(string(b), page.begin)
		made, after, ended := strings.Cut(rest, page.end)
		switch {
		case !ok || !ended:
			t.Errorf("%s: the marks are gone", page.name)
		case made == page.text:
		case *update:
			if err := os.WriteFile(page.name, []byte(before+page.begin+page.text+page.end+after), 0o666); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s differs from the presets: go test ./man -run TestReceivers -update", page.name)
		}
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

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func markdown() string {
	var b strings.Builder
	b.WriteString("| mailbox (`--receiver`) | proven by | measured | pulse's own DKIM check | what you accept | not at all |\n|---|---|---|---|---|---|\n")
	for _, r := range receivers.All() {
		word, own := proven(&r)
		fmt.Fprintf(&b, "| %s (`%s`) | %s | %s | %s | %s | %s |\n", r.Title, r.Name, word, orNone(r.Measured), own, r.Risk, r.Never)
	}
	return b.String()
}

func mdoc() string {
	var b strings.Builder
	b.WriteString(".Bl -tag -width Ds\n")
	for _, r := range receivers.All() {
		word, own := proven(&r)
		fmt.Fprintf(&b, ".It Cm %s\n%s.\nProven by: %s.\n", r.Name, r.Title, word)
		if len(r.IDs) > 0 {
			fmt.Fprintf(&b, "Its name: %s.\n", strings.Join(r.IDs, ", "))
		}
		for _, line := range []struct{ lead, text string }{
			{"Measured", orNone(r.Measured)}, {"Only documented", r.Documented}, {"Own DKIM check", own},
			{"Not at all", r.Never}, {"What you accept", r.Risk}, {"To do", r.Do},
		} {
			if line.text != "" {
				fmt.Fprintf(&b, "%s: %s.\n", line.lead, line.text)
			}
		}
	}
	b.WriteString(".El\n")
	return b.String()
}
