// Package duration reads durations as people write them on command lines and in the
// policy: as Go does, with whole days in front.
//
// Invariant: a day is 24 hours, whatever the local clock does that night. Caveat: it
// sets no bounds; a duration may be negative.
package duration

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Parse reads a duration as time.ParseDuration does, and accepts whole days in front:
// 7d, 1d12h.
func Parse(text string) (time.Duration, error) {
	bad := fmt.Errorf("%s is no duration", text)
	number, rest, days := strings.Cut(text, "d")
	if !days {
		number, rest = "0", text
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n > uint64(math.MaxInt64/day) {
		return 0, bad
	}
	d := time.Duration(n) * day
	if days && rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || days && more < 0 || more > math.MaxInt64-d {
		return 0, bad
	}
	return d + more, nil
}

// Text returns a duration as people write it: 48h, not 48h0m0s.
func Text(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Span returns a duration in the unit that a person would use, rounded down: 12s, 5m, 3h, 2d.
func Span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}
