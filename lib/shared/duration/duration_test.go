package duration

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"7d": 7 * day, "0d": 0, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "1h30m": 90 * time.Minute,
		"1.5h": 90 * time.Minute, "106751d": 106751 * day, "-5m": -5 * time.Minute, "2d0s": 2 * day,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "d", "7", "7 d", " 7d", "-7d", "+7d", "1.5d", "7d-1h", "7d1", "7dd", "1h7d", "7D", "106752d", "106751d24h",
		"99999999999999999999d", "4294967296d", "9223372036s1d", "9999999999h", "\x1b7d",
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}

func TestText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 10 * time.Minute: "10m", 48 * time.Hour: "48h", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s", 20 * time.Second: "20s",
	} {
		got := Text(d)
		if back, err := Parse(got); got != want || err != nil || back != d {
			t.Errorf("%s: %s, want %s (%v)", d, got, want, err)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m", time.Hour: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 71 * time.Hour: "2d",
	} {
		if got := Span(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
