package door

import (
	"pulse/lib/queue"
	"pulse/lib/queue/access"
	"pulse/lib/queue/journal"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/spool"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
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

func (f flat) Keeper() Keeper { return Keeper{Dir: f.Dir()} }

// Snapshot makes one for the groups of the directory.
func (f flat) Snapshot(dir string, g access.Group) error {
	if g.Name != "" {
		return fault.Usagef("pulse-queue init --worker-group", "--worker-group: this queue is a directory, which knows its groups")
	}
	return f.Spool.Snapshot(dir)
}

func (f flat) LogSize() int64            { return f.Dir().Size(journal.Dir) }
func (f flat) Room(reserve int64) error  { return f.Dir().Room(reserve) }
func (f flat) Spare(reserve int64) int64 { return f.Dir().Spare(reserve) }

// Past reads what became of the tasks of a queue that was put aside: spool.ReadPast.
func Past(s Store, was string) (*queue.Fates, error) {
	f, ok := s.(flat)
	if !ok {
		return nil, fault.Usagef("compare pulse-queue list with what was done since, and leave --was out",
			"--was is for a queue in a directory")
	}
	return f.ReadPast(was)
}

func locksOf(queue string) runner.Dir { return runner.Dir(spool.Workers(queue)) }

// Runners returns the process ids of the commands on this machine that run tasks of a
// queue. The queue need not be one that this account may open.
func Runners(queue string) []int {
	if cmdline.Served(queue) {
		return runnersServed(queue)
	}
	return locksOf(queue).Runners()
}
