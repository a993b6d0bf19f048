package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pulse/lib/queue/queuetest"
	"pulse/lib/shared/terms"
)

// uncounting gives a queue the checkpoint that a pulse writes which does not know that refused
// records are kept.
func uncounting(t *testing.T, s *Spool) {
	t.Helper()
	name := filepath.Join(s.dir, checkpointFile)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	was := strings.Replace(string(b), fmt.Sprintf(`"layout":%d,`, layout), `"layout":2,`, 1)
	was = regexp.MustCompile(`"kept":\d+,"kept_bytes":\d+,`).ReplaceAllString(was, "")
	was, _, _ = strings.Cut(was, `,"sum":`)
	write(t, name, fmt.Sprintf("%-*s\n", checkpointSize-1, was+`,"sum":"`+sum([]byte(was))+`"}`))
}

// TestOlderPulseBetween: an older pulse that works on a queue loses the count of what is kept,
// and the next newer one has it again. What was kept stayed for ever.
func TestOlderPulseBetween(t *testing.T) {
	s := made(t)
	do(t, s, queuetest.Keeping(queuetest.Wordy(1, terms.Reject), queuetest.Wordy(2, terms.Reject)))
	want := says(t, s)
	uncounting(t, s)
	if got := says(t, s); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	whole(t, s)
	uncounting(t, s)
	do(t, s, queuetest.Forget)
	if got := says(t, s); got != want {
		t.Error("it was forgotten before its time")
	}
	accepted := queuetest.Wordy(1, terms.Allow)
	uncounting(t, s)
	do(t, s, queuetest.Keeping(accepted))
	left, err := filepath.Glob(filepath.Join(s.dir, refusedDir, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("kept beside its task: %q, %v", left, err)
	}
	whole(t, s)
}
