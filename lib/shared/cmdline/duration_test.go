package cmdline

import (
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
)

func TestSince(t *testing.T) {
	now := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	since := func(args ...string) (time.Time, error) {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.String("since", "", "")
		err := flags.Parse(args)
		at, bad := Since(cli.NewContext(nil, flags, nil), now)
		return at, errors.Join(err, bad)
	}
	for text, want := range map[string]string{
		"36h": "2026-11-19T19:00:00Z", "7d": "2026-11-14T07:00:00Z", "0s": "2026-11-21T07:00:00Z", "2026-11-20": "2026-11-20T00:00:00Z",
		"2026-11-20T01:00:00+01:00": "2026-11-20T00:00:00Z", "2027-01-01": "2027-01-01T00:00:00Z",
	} {
		if got, err := since("-since", text); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1h", "yesterday", "2026-11"} {
		if at, err := since("-since", text); err == nil {
			t.Errorf("%q: %s", text, at)
		}
	}
	if at, err := since(); err != nil || !at.IsZero() {
		t.Error(at, err)
	}
}
