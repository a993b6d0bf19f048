package man

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Text and tables fit a terminal of 80 columns; a line that is typed may be longer. pulse-card(7) is
// made for paper.
func TestColumns(t *testing.T) {
	for _, name := range pages(t) {
		if name == "pulse-card.7" {
			continue
		}
		cmd := exec.Command("mandoc", "-T", "utf8", "-O", "width=78")
		cmd.Stdin = strings.NewReader(read(t, name).unquoted())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(regexp.MustCompile(`.\x08`).ReplaceAllString(string(out), "")) {
			if n := len([]rune(strings.TrimRight(l, "\n"))); n > 78 {
				t.Errorf("%s: %d columns: %s", name, n, l)
			}
		}
	}
}

// unquoted returns a page without its literal blocks.
func (p page) unquoted() string {
	var b strings.Builder
	literal := false
	for _, l := range p {
		literal = literal || strings.HasPrefix(l, ".Bd -literal")
		if !literal {
			b.WriteString(l + "\n")
		}
		literal = literal && l != ".Ed"
	}
	return b.String()
}
