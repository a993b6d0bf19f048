package runner

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// TestStoppedMeanwhile: what a worker wrote is read, also if this process could not begin to read before
// the time for that was over, and though somebody holds the pipe open and writes on; up to a bound.
func TestStoppedMeanwhile(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	text := bytes.Repeat([]byte("line\n"), 12_000)
	if err := r.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{MaxResult, 7001} {
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if got := head(&pipe{r, left}, MaxResult); !bytes.Equal(got, text[:min(left, len(text))]) {
			t.Fatalf("%d bytes of %d, at most %d", len(got), len(text), left)
		}
	}
}
