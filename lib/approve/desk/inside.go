package desk

import (
	"os"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/door"
	"pulse/lib/queue/runner"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

// QueueOutside opens the queue as cmdline.Queue does, but not inside a run: a worker
// proposes, and others decide what becomes of it.
func QueueOutside(c *cli.Context) (door.Store, error) {
	dir, err := cmdline.QueueDir(c)
	if err == nil {
		err = refuseInside(dir)
	}
	if err != nil {
		return nil, err
	}
	return door.Queue(c)
}

// refuseInside fails inside a run of the queue: a worker must not act as the
// person it works for. A worker that clears its environment is still known by its
// ancestors, because the runner is its subreaper.
func refuseInside(dir string) error {
	if os.Getenv("PULSE_TASK") == "" && !runner.Inside(door.Runners(dir)) {
		return nil
	}
	return fault.Refusedf("", "refused inside a run: a worker proposes, and a person decides")
}
