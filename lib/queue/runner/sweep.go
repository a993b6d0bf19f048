package runner

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long processes may take to die of SIGKILL. One that this account may not
// signal, such as sudo's, may never die.
var patience = 10 * time.Second

// kill is kill(2) and send is pidfd_send_signal(2), replaced in tests.
var (
	kill = unix.Kill
	send = func(_, fd int, sig unix.Signal) error { return unix.PidfdSendSignal(fd, sig, nil, 0) }
)

// testOnlyRound is told how many processes a round of a sweep or a reaper found.
var testOnlyRound = func(found int) {}

// sweep kills and reaps all processes that a worker left. As subreaper this process
// inherits every orphan, however often it forked or changed its session. The error names
// the processes that did not die before the deadline. Processes that an earlier sweep
// named are left alone.
//
// Processes may fork and exit without end. Short rounds win the race against them. So the
// kernel reaps meanwhile (SIGCHLD is ignored): then a list holds only living processes,
// and zombies can't use up the process ids. And the newest die first, because the older
// ones have forked already.
func sweep(earlier crowd, deadline time.Time) error {
	signal.Ignore(unix.SIGCHLD)
	defer heedChildren()
	var last []int
	empty := 0
	for pause := time.Duration(0); ; {
		found, others := orphans()
		found = slices.DeleteFunc(found, earlier.has)
		testOnlyRound(len(found))
		if len(found) > 0 {
			empty = 0
		} else if empty++; childless() || len(others)+len(earlier) > 0 && empty > 2 {
			return nil
		}
		left := endAll(found)
		if late := time.Since(deadline); late > 0 && left != nil {
			return left
		} else if late > patience {
			return errUnseen
		}
		if pause = min(2*pause+time.Microsecond, 5*time.Millisecond); !slices.Equal(found, last) {
			pause = 0
		}
		time.Sleep(pause)
		last = found
	}
}

// endAll kills and reaps children, the newest first. The error names those that still live.
func endAll(pids []int) error {
	var left []error
	for _, pid := range slices.Backward(pids) {
		if err := end(pid); err != nil {
			left = append(left, fmt.Errorf("runner: process %d is left: %w", pid, err))
		}
	}
	return errors.Join(left...)
}

// heedChildren undoes signal.Ignore, which signal.Reset alone doesn't.
func heedChildren() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGCHLD)
	signal.Stop(c)
}

// orphans returns the children of this process that a worker left to it. Its others are in
// this process's own session, and were there before: a worker has a session of its own,
// and a process can't enter a session that exists.
func orphans() (list, others []int) {
	own, _ := unix.Getsid(0)
	for _, pid := range children(os.Getpid()) {
		if sid, err := unix.Getsid(pid); err == nil && sid == own {
			others = append(others, pid)
		} else {
			list = append(list, pid)
		}
	}
	return list, others
}

// crowd is a set of processes: their pids, and when each was started.
type crowd map[int]uint64

// orphansNow returns the orphans that this process has.
func orphansNow() crowd {
	c := crowd{}
	list, _ := orphans()
	for _, pid := range list {
		if p, err := look(pid); err == nil {
			c[pid] = p.start
		}
	}
	return c
}

func (c crowd) has(pid int) bool {
	start, ok := c[pid]
	if !ok {
		return false
	}
	p, err := look(pid)
	return err == nil && p.start == start
}

// childless reports whether this process has no children of any kind.
func childless() bool {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil) == unix.ECHILD
}

// errUnseen reports processes that exit before they can be killed.
var errUnseen = errors.New("runner: processes are left that start others and end")

// errAlive reports a process that was sent SIGKILL and still lives.
var errAlive = errors.New("it does not die of SIGKILL")

// end kills and reaps a child, and returns nil once it is gone. Because the kernel reaps
// too, the number may be another process's by now.
func end(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return ifExists(err)
	}
	defer unix.Close(fd)
	if err := unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG|unix.WALL, nil); err != nil {
		return nil // ECHILD: not ours, or not any more
	}
	if err := send(pid, fd, unix.SIGKILL); err != nil {
		return ifExists(err)
	}
	return errAlive
}

func ifExists(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// reaper reaps the processes that a worker leaves to this one while it runs.
type reaper struct {
	died        chan os.Signal
	stop, ended chan struct{}
}

// startReaper reaps every orphan except the worker, whose exit status Run waits for.
func startReaper(worker int) *reaper {
	r := &reaper{make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})}
	signal.Notify(r.died, unix.SIGCHLD)
	go r.run(worker)
	return r
}

func (r *reaper) run(worker int) {
	defer close(r.ended)
	for {
		if someEnded() {
			r.round(worker)
		}
		select {
		case <-r.died:
		case <-r.stop:
			return
		}
	}
}

func (r *reaper) round(worker int) {
	list, _ := orphans()
	testOnlyRound(len(list))
	for _, pid := range list {
		// Nothing else reaps it, so the number is still its own.
		if pid != worker {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil)
		}
	}
}

// someEnded reports whether a child of this process waits to be reaped.
func someEnded() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	return err == nil && info.Signo != 0
}

// end tells the reaper to stop; it has stopped when ended closes.
func (r *reaper) end() {
	signal.Stop(r.died)
	close(r.stop)
}
