package desk

import (
	"os"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/door"
	"pulse/lib/queue/runner"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

// QueueOutside opens the queue as door.Queue does, but not inside a run: a worker
// proposes, and others decide what becomes of it.
func QueueOutside(c *cli.Context) (door.Store, error) { return outside(c, door.Queue) }

// EnterOutside is door.Enter, not inside a run.
func EnterOutside(c *cli.Context) (door.Store, error) { return outside(c, door.Enter) }

func outside(c *cli.Context, open func(*cli.Context) (door.Store, error)) (door.Store, error) {
	name, err := cmdline.QueueName(c)
	if err == nil {
		err = refuseInside(name)
	}
	if err != nil {
		return nil, err
	}
	return open(c)
}

// refuseInside fails inside a run of the queue: a worker must not act as the
// person it works for. A worker that clears its environment is still known by its
// ancestors, because the runner is its subreaper.
func refuseInside(queue string) error {
	if os.Getenv("PULSE_TASK") == "" && !runner.Inside(door.Runners(queue)) {
		return nil
	}
	return fault.Refusedf("", "refused inside a run: a worker proposes, and a person decides")
}
