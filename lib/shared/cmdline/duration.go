package cmdline

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/duration"
	"pulse/lib/shared/fault"
)

// Age returns the value of a flag that says how long ago; it must be above 0. The flag must
// be set.
func Age(c *cli.Context, flag string) (time.Duration, error) {
	d, err := duration.Parse(c.String(flag))
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s is not above 0", c.String(flag))
	}
	if err != nil {
		return 0, fault.Usagef("a duration is written 90m, 36h or 7d", "--%s: %w", flag, err)
	}
	return d, nil
}

// Since returns the time that --since names, or that was as long ago as it says; zero without it.
func Since(c *cli.Context, now time.Time) (time.Time, error) {
	text := c.String("since")
	if text == "" && !c.IsSet("since") {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	d, err := duration.Parse(text)
	if err != nil || d < 0 {
		return now, fault.Usagef(
			"a time is written 2026-11-21 or 2026-11-21T07:00:00Z, and how long ago 90m, 36h or 7d",
			"--since: %s is neither a time nor a duration", text)
	}
	return now.Add(-d), nil
}
