package runner

import (
	"os"
	"time"
)

// Runs says which tasks of a queue are being run, and takes those that are to be. A store
// that several machines use says more than the kernel's locks on one of them.
type Runs interface {
	// Take takes a task before its start is recorded. It fails with EWOULDBLOCK if a
	// runner or a worker of the task lives.
	Take(id string) (Hold, error)
	// Dead reports whether neither a runner nor a worker of the task lives. What can't be
	// told counts as alive.
	Dead(id string) bool
	// Seen is Dead for a command that gives up the right to look at processes.
	Seen() (dead func(id string) bool)
	// Started returns when each run here began whose locks were not given back, by task.
	Started() map[string]time.Time
	// WaitGone waits until the task is Dead, at most for limit, and reports whether it is.
	WaitGone(id string, limit time.Duration) bool
	// Visible reports whether this account can see here what is being run.
	Visible() bool
	// Runner returns the process id of the runner that took the task last.
	Runner(id string) (pid int, err error)
	// Elsewhere says which other machine runs a task, if one does.
	Elsewhere(id string) string
	// WorkerFile returns the file that the worker of a task has open, for fuser(1).
	WorkerFile(id string) string
}

// Hold is a task that this process runs.
type Hold interface {
	Worker() *os.File      // the lock that the worker inherits
	Handed(pid int) error  // the worker has it; called once
	Env() []string         // what the worker's environment says of the run
	Gone() <-chan struct{} // closes when the worker has to end: a person took the task back, or the hold lapses; called once
	Lapsed() bool          // it closed because another machine may soon take the task, and no person has taken it back
	Drop()                 // the worker is dead, or never started
}

// Flat are the runs of a queue that is a directory: its locks and its files say all.
type Flat struct {
	Dir
	File  func(id string) string // of a task while it runs
	watch *Watch
}

// NewFlat returns the runs of a queue whose locks lie in a directory.
func NewFlat(locks Dir, file func(id string) string) Flat { return Flat{locks, file, new(Watch)} }

// Take implements Runs.
func (f Flat) Take(id string) (Hold, error) {
	l, err := f.Dir.Take(id)
	if err != nil {
		return nil, err
	}
	return &flatHold{Locks: l, file: f.File(id), watch: f.watch, stop: func() {}}, nil
}

// Elsewhere implements Runs.
func (f Flat) Elsewhere(string) string { return "" }

type flatHold struct {
	*Locks
	file  string
	watch *Watch
	stop  func() // of what Gone watches
}

func (h *flatHold) Env() []string { return nil }
func (h *flatHold) Lapsed() bool  { return false }

func (h *flatHold) Gone() <-chan struct{} {
	var gone <-chan struct{}
	gone, h.stop = h.watch.Gone(h.file)
	return gone
}

func (h *flatHold) Drop() {
	h.Locks.Drop()
	h.stop()
}
