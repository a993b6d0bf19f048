// Package runner starts one worker, watches it and ends it.
//
// Invariant: when Run returns without an error, the worker and all processes that it left
// are dead and reaped, because the caller is the subreaper of all of them (prctl(2)). The
// kernel says whether a worker lives, by two locks and a session: the runner holds one
// lock, the worker and its children inherit the other, and the id of the worker's session
// stays taken while the session has a member. A task that has none of the three is not
// being run. Caveat: a worker under the same uid can unlock what it inherited. A process
// that left the session and closed its descriptors is known only to its runner, while
// that lives.
package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Grace is how long a worker that is asked to end has until SIGKILL.
const Grace = 10 * time.Second

// grace is Grace, replaced in tests.
var grace = Grace

// Worker is a command to be started once.
type Worker struct {
	Path       string // absolute, or with a slash
	Argv       []string
	Env        []string
	Stdin      []byte
	Lock       *os.File // inherited as descriptor 3
	Credential *syscall.Credential
	Timeout    time.Duration   // 0: none
	Gone       <-chan struct{} // closes when a person took the task back; may be nil
}

// End is how a worker ended.
type End struct {
	Exit      int    // -1: killed by a signal, never started, or still there
	How       string // NeverStarted, or in words
	Stdout    []byte // the first MaxResult bytes
	Stderr    []byte // the last few KiB
	TimedOut  bool   // asked to end by Timeout
	Cancelled bool   // asked to end by Gone
	Stopped   bool   // asked to end by the end of ctx
}

// NeverStarted is how a worker ended that could not be started.
const NeverStarted = "never started"

// Run starts the worker in its own session and waits until it and all its
// descendants are gone. To end it, Run sends SIGTERM to the whole session, or the
// signal that is the cause of ctx's end, and after Grace SIGKILL to everything. What
// the worker leaves behind when it ends by itself is killed at once. handed is
// called with its process id once it holds its lock.
//
// An error comes with an End if the worker was started: it could not be written down, or
// it left processes behind that can't be killed.
func Run(ctx context.Context, w *Worker, handed func(pid int) error) (End, error) {
	cmd := &exec.Cmd{
		Path: w.Path, Args: w.Argv, Env: w.Env, ExtraFiles: []*os.File{w.Lock},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Credential: w.Credential},
	}
	earlier := orphansNow()
	pipes, err := start(cmd)
	if err != nil {
		return End{Exit: -1, How: NeverStarted}, fmt.Errorf("runner: %w", err)
	}
	pid := cmd.Process.Pid
	reaper := startReaper(pid)
	notWritten := handed(pid)
	output, ended := pipes.serve(w.Stdin), zombie(pid)
	end := w.watch(ctx, pid, ended)
	deadline := time.Now().Add(patience)
	finish(cmd.Process, ended, deadline, &end)
	reaper.end()
	left := sweep(earlier, deadline)
	<-reaper.ended
	end.Stdout, end.Stderr = output()
	return end, errors.Join(notWritten, left)
}

// start makes this process fit to run a worker, and starts it.
func start(cmd *exec.Cmd) (*pipes, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("can't become subreaper: %w", err)
	}
	// Descriptors that this process inherited, from cron or flock(1), are not for the worker.
	if err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, fmt.Errorf("can't close descriptors: %w", err)
	}
	pipes, err := connect(cmd)
	if err != nil {
		return nil, err
	}
	err = cmd.Start()
	pipes.closeTheirs()
	if err != nil {
		pipes.closeOurs()
		return nil, err
	}
	return pipes, nil
}
