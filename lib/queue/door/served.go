package door

import (
	"github.com/urfave/cli/v2"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// openServed opens a queue on a server.
func openServed(_ *cli.Context, name string) (Store, error) { return nil, noServer(name) }

// CreateServed makes one.
func CreateServed(_ *cli.Context, name string) error { return noServer(name) }

// runnersServed is Runners for one.
func runnersServed(string) []int { return nil }

func noServer(name string) error {
	return fault.Usagef("--queue ~/pulse", "--queue %s: this build has no queues on servers", escape.ASCII(name))
}
