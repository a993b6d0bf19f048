package main

import (
	"bytes"
	"testing"
	"time"
)

// TestExplore: nothing leaves, and nothing is let through, whatever the order of things. The short
// form plays the first steps, and those after two beginnings that once let something out. CI has one step
// fewer than people, and these beginnings.
func TestExplore(t *testing.T) {
	t.Parallel()
	depth, begins := 4, [][]string{nil} // 720 steps, a minute; 5 are 3,400 and 6 are 12,900: scripts/explore
	once := [][]string{
		{"task case-0000 arrives", "run W", "task case-0001 arrives"},
		{"task case-0001 arrives", "run PS", "yes", "effects", "task case-0002 arrives"},
	}
	if testing.Short() {
		depth, begins = 1, once
	} else if thin {
		depth, begins = 3, append(once, nil)
	}
	for _, from := range begins {
		d := depth
		if from != nil {
			d = 1
		}
		found, err := built.explore(&logged{t}, d, time.Hour, from...)
		if err != nil {
			t.Fatal(err)
		}
		for wrong, steps := range found {
			t.Errorf("%s: %q", wrong, steps)
		}
	}
}

// logged writes to the log of a test.
type logged struct{ t *testing.T }

func (l *logged) Write(b []byte) (int, error) {
	l.t.Logf("%s", bytes.TrimSpace(b))
	return len(b), nil
}
