package cmdline

import (
	"os"

	"github.com/urfave/cli/v2"

	"pulse/lib/screen"
)

// Where returns the queue and the policy that flags named: what a command that is
// suggested has to be told too. What the environment says, it knows.
func Where(c *cli.Context) screen.Where {
	return screen.Where{Queue: flagged(c, "queue", "PULSE_QUEUE"), Policy: flagged(c, "policy", "PULSE_POLICY")}
}

func flagged(c *cli.Context, name, variable string) string {
	if value := c.String(name); value != os.Getenv(variable) {
		return value
	}
	return ""
}
