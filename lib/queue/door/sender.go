package door

import (
	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/shared/fault"
)

// SenderFlag returns the flag --sender.
func SenderFlag() cli.Flag {
	return &cli.StringFlag{Name: "sender", Usage: "`ADDR` from this address, or from an @domain"}
}

// Sender returns the value of --sender.
func Sender(c *cli.Context) (queue.Sender, error) {
	w := queue.Sender(c.String("sender"))
	if !w.Valid() {
		return "", fault.Usagef("--sender me@example.com, or --sender @example.com", "--sender: %s is no domain", w)
	}
	if w == "" && c.IsSet("sender") {
		return "", fault.Usagef("--sender me@example.com, or --sender @example.com", "--sender is empty")
	}
	return w, nil
}
