package cmdline

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/fault"
)

// Age returns the value of a flag that says how long ago; it must be above 0. The flag must
// be set.
func Age(c *cli.Context, flag string) (time.Duration, error) {
	d, err := ParseDuration(c.String(flag))
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s is not above 0", c.String(flag))
	}
	if err != nil {
		return 0, fault.Usagef("a duration is written 90m, 36h or 7d", "--%s: %w", flag, err)
	}
	return d, nil
}

// day is a day of 24 hours, whatever the local clock does that night.
const day = 24 * time.Hour

// ParseDuration reads a duration as time.ParseDuration does, and accepts whole days in
// front: 7d, 1d12h.
func ParseDuration(text string) (time.Duration, error) {
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
