package policy

import (
	"strings"
	"testing"
	"time"
)

// TestResurface: it is shorter than review_expires, also where only that one is written.
func TestResurface(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"":                         72 * time.Hour,
		`review_expires = "72h1s"`: 72 * time.Hour,
		`review_expires = "72h"`:   36 * time.Hour,
		`review_expires = "1m"`:    30 * time.Second,
		`resurface = "1s"`:         time.Second,
		`resurface = "13d"`:        13 * 24 * time.Hour,
		"resurface = \"59m\"\nreview_expires = \"1h\"": 59 * time.Minute,
	} {
		p, err := Parse("policy.toml", []byte("[limits]\n"+text+"\n"))
		if err != nil || p.Limits.Resurface != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`resurface = "14d"`:                            "policy.toml:2: limits.resurface: 14d: want less than review_expires, which is 336h0m0s",
		"review_expires = \"2d\"\nresurface = \"2d\"":  "policy.toml:3: limits.resurface: 2d: want less than review_expires, which is 48h0m0s",
		"resurface = \"2h\"\nreview_expires = \"90m\"": "policy.toml:2: limits.resurface: 2h: want less than review_expires, which is 1h30m0s",
		`resurface = "0"`:                              "policy.toml:2: limits.resurface: 0: want a duration such as 2d, 48h or 90m, at least 1s",
		`review_expires = "0"`:                         "policy.toml:2: limits.review_expires: 0: want a duration",
		`resurface = 72`:                               "policy.toml:2: limits.resurface: want a duration in quotes",
	} {
		if _, err := Parse("policy.toml", []byte("[limits]\n"+text+"\n")); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestExpiry: a late telling leaves time for an answer.
func TestExpiry(t *testing.T) {
	l := Limits{ReviewExpires: 110 * time.Hour, Resurface: 10 * time.Hour}
	since := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for told, want := range map[time.Duration]time.Duration{
		10 * time.Hour: 110 * time.Hour, 100 * time.Hour: 110 * time.Hour, 101 * time.Hour: 111 * time.Hour, 500 * time.Hour: 510 * time.Hour,
	} {
		if at := l.Expiry(since, since.Add(told)); !at.Equal(since.Add(want)) {
			t.Errorf("told after %s: %s, want %s", told, at.Sub(since), want)
		}
	}
	if at := l.Expiry(since, time.Time{}); !at.Equal(since.Add(110 * time.Hour)) {
		t.Errorf("not told: %s", at.Sub(since))
	}
}
