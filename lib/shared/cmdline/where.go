package cmdline

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/hint"
)

// Where returns the queue and the policy that flags named. A suggested command needs the
// same flags; it finds by itself what the environment names.
func Where(c *cli.Context) hint.Where {
	return hint.Where{Queue: flagged(c, "queue", "PULSE_QUEUE"), Policy: flagged(c, "policy", "PULSE_POLICY")}
}

// Absolute returns the value of --queue or --policy as it is right in any directory: a path that is
// absolute, or the name of a queue on a server as it is.
func Absolute(name string) (string, error) {
	if name == "" || Served(name) {
		return name, nil
	}
	return filepath.Abs(name)
}

// Told adds the flags of Where to a hint that is a command on this queue; init is not one,
// because it may make another queue.
func Told(c *cli.Context, hint string) string {
	command := strings.HasPrefix(hint, "pulse-queue ") || strings.HasPrefix(hint, "pulse-approve ")
	if !command || strings.HasPrefix(hint, "pulse-queue init") ||
		strings.Contains(hint, "--queue") || strings.Contains(hint, "--help") {
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
