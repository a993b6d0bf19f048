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
