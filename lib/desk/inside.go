package desk

import (
	"os"

	"github.com/urfave/cli/v2"

	"pulse/lib/cmdline"
	"pulse/lib/fault"
	"pulse/lib/runner"
	"pulse/lib/spool"
)

// QueueOutside is Queue, and refuses inside a run: a worker proposes, and what
// comes of it others decide.
func QueueOutside(c *cli.Context) (*spool.Spool, error) {
	dir, err := cmdline.QueueDir(c)
	if err == nil {
		err = RefuseInside(dir)
	}
	if err != nil {
		return nil, err
	}
	return cmdline.Queue(c)
}

// RefuseInside fails inside a run of the queue: a worker must not act as the
// person it works for. A worker that clears its environment is still known by its
// ancestors, for the runner is its subreaper.
func RefuseInside(dir string) error {
	locks := runner.Dir(spool.Workers(dir))
	if os.Getenv("PULSE_TASK") == "" && !runner.Inside(locks.Runners()) {
		return nil
	}
	return fault.Refusedf("", "refused inside a run: a worker proposes, and a person decides")
}
