package main

import (
	"testing"
	"time"
)

// TestNext: --at HH:MM is the next time a clock shows, in the zone it hangs in.
func TestNext(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ clock, now, want string }{
		{"07:30", "2026-11-21T06:00:00Z", "2026-11-21T06:30:00Z"}, // 07:00 there
		{"07:30", "2026-11-21T06:30:00Z", "2026-11-22T06:30:00Z"},
		{"00:00", "2026-12-31T12:00:00Z", "2026-12-31T23:00:00Z"},
		{"12:00", "2027-03-27T12:00:00Z", "2027-03-28T10:00:00Z"}, // summer time began
		{"12:00", "2026-10-24T11:00:00Z", "2026-10-25T11:00:00Z"}, // it ended
	} {
		clock, err1 := time.Parse("15:04", c.clock)
		now, err2 := time.Parse(time.RFC3339, c.now)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if got := next(clock, now.In(berlin)).UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("%s after %s is %s, want %s", c.clock, c.now, got, c.want)
		}
	}
}
