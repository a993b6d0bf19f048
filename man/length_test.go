package man

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// most is how many words a reader of all pages may meet.
const most = 36_800

// The manual does not grow: what is added to it takes the place of something.
func TestLength(t *testing.T) {
	pages, err := filepath.Glob("pulse*.[157]")
	if err != nil || len(pages) < 15 {
		t.Fatal(pages, err)
	}
	n := 0
	for _, page := range pages {
		out, err := exec.Command("mandoc", "-T", "ascii", "-O", "width=78", page).Output()
		if err != nil {
			t.Fatal(page, err)
		}
		n += len(strings.Fields(string(out)))
	}
	if n > most || n < most/2 {
		t.Errorf("%d words, want at most %d: shorten a page", n, most)
	}
}
