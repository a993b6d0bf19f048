package main

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/runner"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// patience is how long cancel waits for a worker: until its runner must have
// killed it.
const patience = runner.Grace + 5*time.Second

// cancel ends a task that waits for its turn or runs. The transition is what ends
// a worker: its runner sees that the task is not running any more.
func cancel(c *cli.Context, s door.Store) error {
	id, err := queue.Whole(s, c.Args().First())
	if err != nil {
		return desk.Unknown(err)
	}
	var was queue.Stored
	err = queue.Update(s, func(tx *queue.Tx) (err error) {
		was, err = queue.Cancel(tx, id, cmdline.User(), time.Now())
		return err
	})
	if errors.Is(err, queue.ErrState) {
		return notCancelled(&was)
	}
	if err != nil || was.Task.State != task.Running {
		return desk.Unknown(err)
	}
	if was.Outward() {
		cmdline.Warn(c, "task %s was running: its effect may have happened", id)
	}
	if runs := s.Runs(); !runs.WaitGone(id, patience) {
		cmdline.Warn(c, "task %s is cancelled, and its worker still lives after %s: fuser -k %s ends it",
			id, patience, runs.WorkerFile(id))
	}
	return nil
}

func notCancelled(s *queue.Stored) error {
	if s.Task.State == task.Awaiting {
		return fault.Failedf("pulse-approve no "+s.Task.ID+" --reason 'not wanted'",
			"task %s awaits a person, who can refuse it", s.Task.ID)
	}
	return fault.Failedf("pulse-queue show "+s.Task.ID,
		"task %s has ended already: it is %s", s.Task.ID, s.Task.State)
}
