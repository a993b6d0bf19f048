package cmdline

import (
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/screen"
)

// Where returns the queue and the policy that flags named: what a command that is
// suggested has to be told too. What the environment says, it knows.
func Where(c *cli.Context) screen.Where {
	return screen.Where{Queue: flagged(c, "queue", "PULSE_QUEUE"), Policy: flagged(c, "policy", "PULSE_POLICY")}
}

// Told returns what a person should type next, told what Where says, if it is a command
// of this queue: init may make another one.
func Told(c *cli.Context, hint string) string {
	command := strings.HasPrefix(hint, "pulse-queue ") || strings.HasPrefix(hint, "pulse-approve ")
	if !command || strings.HasPrefix(hint, "pulse-queue init") || strings.Contains(hint, "--queue") || strings.Contains(hint, "--help") {
		return hint
	}
	return Where(c).Command(hint)
}

func flagged(c *cli.Context, name, variable string) string {
	if value := c.String(name); value != os.Getenv(variable) {
		return value
	}
	return ""
}
