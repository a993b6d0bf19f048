package main

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"time"
)

// open is what the explorer finds that is not mended yet.
var open []string

// TestExplore: nothing leaves, and nothing is let through, whatever the order of things. The short
// form plays the first steps, and those after two beginnings that once let something out.
func TestExplore(t *testing.T) {
	depth, begins := 4, [][]string{nil}
	if testing.Short() {
		depth, begins = 1, [][]string{
			{"task case-0000 arrives", "run W", "task case-0001 arrives"},
			{"task case-0001 arrives", "run PS", "yes", "effects", "task case-0002 arrives"},
		}
	}
	var found []string
	for _, from := range begins {
		some, err := built.explore(&logged{t}, depth, time.Hour, from...)
		if err != nil {
			t.Fatal(err)
		}
		found = slices.AppendSeq(found, maps.Keys(some))
	}
	if slices.Sort(found); !slices.Equal(found, open) {
		t.Errorf("found %q, and %q was known", found, open)
	}
}

// logged writes to the log of a test.
type logged struct{ t *testing.T }

func (l *logged) Write(b []byte) (int, error) {
	l.t.Logf("%s", bytes.TrimSpace(b))
	return len(b), nil
}
