package man

import (
	"os"
	"strings"
	"testing"
)

// scripts/crontab is the crontab of the page, which is run.
func TestCrontabFile(t *testing.T) {
	b, err := os.ReadFile("../scripts/crontab")
	if err != nil {
		t.Fatal(err)
	}
	comment, rest, _ := strings.Cut(string(b), "\n")
	if !strings.HasPrefix(comment, "# ") || rest != read(t, "pulse.7").marked(t, "crontab") {
		t.Errorf("it is\n%s", rest)
	}
	if _, entries := crontab(t, rest); len(entries) == 0 {
		t.Error("it starts nothing")
	}
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "*") && !strings.Contains(line, "flock -n") {
			t.Errorf("without flock: %s", line)
		}
	}
}
