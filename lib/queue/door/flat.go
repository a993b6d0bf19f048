package door

import (
	"pulse/lib/queue/journal"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/spool"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/task"
)

// flat is a queue that is a directory.
type flat struct {
	*spool.Spool
	dir string
}

func (f flat) Runs() runner.Runs {
	return runner.NewFlat(locksOf(f.dir), func(id string) string { return spool.TaskFile(f.dir, task.Running, id) })
}

func (f flat) LogSize() int64            { return f.Dir().Size(journal.Dir) }
func (f flat) Room(reserve int64) error  { return f.Dir().Room(reserve) }
func (f flat) Spare(reserve int64) int64 { return f.Dir().Spare(reserve) }

func locksOf(queue string) runner.Dir { return runner.Dir(spool.Workers(queue)) }

// Runners returns the process ids of the commands on this machine that run tasks of a
// queue. The queue need not be one that this account may open.
func Runners(queue string) []int {
	if cmdline.Served(queue) {
		return runnersServed(queue)
	}
	return locksOf(queue).Runners()
}
